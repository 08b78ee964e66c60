import { OrganizationsService } from '../../../src/auth/organizations/organizations.service';
import { DAY, HOUR } from '../../../src/common/clock';
import { ContentRemovalJob } from '../../../src/modules/emails/retention/retention.job';
import { RetentionRepository } from '../../../src/modules/emails/retention/retention.repository';
import { EmailContentService } from '../../../src/modules/emails/email-content.service';
import { EmailsService } from '../../../src/modules/emails/emails.service';
import { DEFERRED, SOFT_BOUNCE } from '../../factories/outcomes';
import { RetentionScene } from './retention-scene';

const ATTACHMENTS = [{ filename: 'a.txt', content: Buffer.from('a').toString('base64') }];

describe('the retention of contents', () => {
  let scene: RetentionScene;
  beforeEach(async () => (scene = await RetentionScene.open()));
  afterEach(() => scene.close());

  const run = () => scene.worker.get(ContentRemovalJob).run();
  async function contentOf(id: string) {
    const { content, attachments } = await scene.mail.read(id);
    return { hasContent: 'text' in content, attachments: attachments.length };
  }
  const GONE = { hasContent: false, attachments: 0 };
  const THERE = { hasContent: true, attachments: 0 };

  it('deletes them 30 days after the end, with their attachments, and leaves the email', async () => {
    const id = await scene.delivered({ attachments: ATTACHMENTS });
    scene.clock.advance(30 * DAY - HOUR);
    expect(await run()).toBe(0);
    expect(await contentOf(id)).toEqual({ hasContent: true, attachments: 1 });
    scene.clock.advance(2 * HOUR);
    expect(await run()).toBe(1);
    expect(await contentOf(id)).toEqual(GONE);
    const { email, recipients, events } = await scene.mail.read(id);
    expect(email).toMatchObject({ status: 'delivered', subject: 'Hi' });
    expect(recipients).toHaveLength(1);
    expect(events.map(({ event_type }) => event_type)).toEqual(['queued', 'sent', 'delivered']);
  });

  it('is 404 in the API, and lists work without it', async () => {
    const id = await scene.delivered();
    scene.clock.advance(31 * DAY);
    await run();
    const emails = scene.mail.core.get(EmailsService);
    const viewer = scene.mail.tenant.as('live');
    await expect(scene.mail.core.get(EmailContentService).content(viewer, id)).rejects.toMatchObject({
      code: 'resource_not_found',
    });
    const { emails: listed } = await emails.list(viewer, {}, { page: 1, limit: 10 });
    expect(listed.map(({ email, bodies }) => [email.id, bodies])).toEqual([[id, undefined]]);
  });

  it('counts from the end of the last recipient, not from the age of the email', async () => {
    const scheduledAt = new Date(scene.clock.now().getTime() + 29 * DAY).toISOString();
    const scheduled = await scene.mail.accept({ scheduledAt });
    const partly = await scene.mail.accept({ to: ['a@x.example', 'b@x.example'] });
    await scene.tell(partly, { kind: 'delivered' });
    await scene.tell(partly, DEFERRED, { position: 1 });
    scene.clock.advance(3 * DAY);
    await scene.tell(partly, SOFT_BOUNCE, { position: 1 });

    scene.clock.advance(28 * DAY);
    await scene.tell(scheduled, { kind: 'delivered' });
    expect(await run()).toBe(0);
    expect([await contentOf(scheduled), await contentOf(partly)]).toEqual([THERE, THERE]);

    scene.clock.advance(3 * DAY);
    expect(await run()).toBe(1);
    expect([await contentOf(scheduled), await contentOf(partly)]).toEqual([THERE, GONE]);
    scene.clock.advance(28 * DAY);
    expect(await run()).toBe(1);
    expect(await contentOf(scheduled)).toEqual(GONE);
  });

  it('keeps undelivered mail, however old; opens and clicks do not prolong it', async () => {
    const open = await scene.mail.accept();
    await scene.tell(open, DEFERRED);
    const read = await scene.delivered();
    scene.clock.advance(29 * DAY);
    await scene.tell(read, { kind: 'opened' });
    scene.clock.advance(371 * DAY);
    expect(await run()).toBe(1);
    expect([await contentOf(open), await contentOf(read)]).toEqual([THERE, GONE]);
  });

  it('goes through all tenants and modes, page by page, also in two processes at once', async () => {
    const { tenant } = scene.mail;
    const { id: otherId } = await scene.mail.core.get(OrganizationsService).create('Other');
    await insertDelivered([tenant.organizationId, otherId], ['live', 'test'], 1_100);
    const kept = await scene.mail.accept();
    scene.clock.advance(31 * DAY);
    const other = (await scene.startOtherWorker()).get(ContentRemovalJob);
    const deleted = await Promise.all([run(), other.run()]);
    expect(deleted[0] + deleted[1]).toBe(4 * 1_100);
    const left = await scene.db.query('select email_id from email_contents');
    expect(left).toEqual([{ email_id: kept }]);
    expect(await run()).toBe(0);
  });

  it('takes turns among organizations, and continues when one of them fails', async () => {
    const organizations = scene.mail.core.get(OrganizationsService);
    const [broken, other] = [(await organizations.create('Broken')).id, (await organizations.create('Other')).id];
    const noisy = scene.mail.tenant.organizationId;
    await insertDelivered([noisy], ['live'], 3_100);
    await insertDelivered([other], ['test'], 1);
    scene.clock.advance(31 * DAY);
    const contents = scene.worker.get(RetentionRepository);
    const remove = contents.deleteContents.bind(contents);
    const batches = jest.spyOn(contents, 'deleteContents').mockImplementation((page, limit) => {
      return page.organizationId === broken ? Promise.reject(new Error('broken')) : remove(page, limit);
    });
    expect(await run()).toBe(3_101);
    const turns = batches.mock.calls.map(([page]) => `${page.organizationId} ${page.mode}`);
    batches.mockRestore();
    expect(turns.lastIndexOf(`${noisy} live`)).toBeGreaterThan(turns.indexOf(`${other} test`));
  });

  async function insertDelivered(owners: readonly string[], modes: readonly string[], each: number): Promise<void> {
    const tenants =
      'from unnest($1::uuid[]) o (organization_id), unnest($2::text[]) m (mode), generate_series(1, $3) n';
    await scene.db.query(
      `with inserted as (
         insert into email_contents (organization_id, mode, email_id, text, addressees)
         select organization_id, mode, event_id(now(), n), 'x', '{}' ${tenants}
         returning organization_id, mode, email_id
       )
       insert into email_recipients (organization_id, mode, email_id, position, kind, address, status, updated_at)
       select organization_id, mode, email_id, 0, 'to', 'r@x.example', 'delivered', now() from inserted`,
      [owners, modes, each],
    );
  }
});

describe('a retention of the operator’s own', () => {
  it('holds instead', async () => {
    const scene = await RetentionScene.open({ RETENTION_CONTENTS_DAYS: '2' });
    try {
      await scene.delivered();
      scene.clock.advance(2 * DAY);
      expect(await scene.worker.get(ContentRemovalJob).run()).toBe(0);
      scene.clock.advance(HOUR);
      expect(await scene.worker.get(ContentRemovalJob).run()).toBe(1);
    } finally {
      await scene.close();
    }
  });
});
