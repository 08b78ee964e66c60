import { newId } from '../../../src/common/ids';
import { fromCursor } from '../../../src/common/http/dto/pagination';
import { HOUR } from '../../../src/common/clock';
import { Database } from '../../../src/database/pool/database.service';
import { toContentDto, toDetailDto, toListDto } from '../../../src/modules/emails/dto/email.mapper';
import { ListEmailsQuery } from '../../../src/modules/emails/dto/email.dto';
import type { Tenant as TenantKey } from '../../../src/common/tenant';
import type { EmailFilter } from '../../../src/modules/emails/email-list.service';
import { EmailContentService } from '../../../src/modules/emails/email-content.service';
import { EmailListsRepository } from '../../../src/modules/emails/emails.repository';
import { EmailsService } from '../../../src/modules/emails/emails.service';
import { OutcomeRecorder } from '../../../src/modules/emails/outcomes/outcome-recorder.service';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { DEFERRED, HARD_BOUNCE, recordedOutcome } from '../../factories/outcomes';
import { sendBody } from '../../factories/send-requests';
import { addDomain, createTenant, type Tenant } from '../../factories/tenants';
import { type Core, startCore } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

describe('reading emails', () => {
  let db: OpenTestDatabase;
  let core: Core;
  let emails: EmailsService;
  let contents: EmailContentService;
  let tenant: Tenant;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 2 });
    core = await startCore(db.url);
    emails = core.get(EmailsService);
    contents = core.get(EmailContentService);
  });
  beforeEach(async () => {
    tenant = await createTenant(db);
  });
  afterAll(async () => {
    await core.close();
    await db.drop();
  });

  async function accept(fields: Record<string, unknown> = {}, submitter = tenant.as('live')): Promise<string> {
    return (await core.get(SendEmailsService).sendOne(sendBody(fields), undefined, submitter)).accepted.id;
  }

  async function acceptMany(count: number): Promise<string[]> {
    const ids: string[] = [];
    for (let n = 0; n < count; n += 1) ids.push(await accept({ subject: `mail ${n}` }));
    return ids;
  }

  /** The list as the API shows it. */
  async function list(
    filter: EmailFilter = {},
    page: Partial<ListEmailsQuery> = {},
    viewer: TenantKey = tenant.as('live'),
  ) {
    const query = Object.assign(new ListEmailsQuery(), page);
    const { page: number, limit } = query;
    return toListDto(await emails.list(viewer, filter, { page: number, limit, after: fromCursor(page.cursor) }), query);
  }

  const idsOf = async (filter: EmailFilter, viewer?: TenantKey) =>
    (await list(filter, {}, viewer)).data.map(({ id }) => id).sort();

  const record = (...outcomes: Parameters<OutcomeRecorder['record']>[0]) =>
    core.get(Database).transaction((tx) => core.get(OutcomeRecorder).record(outcomes, tx));

  describe('a list', () => {
    it('shows the newest first, with all that there is', async () => {
      const older = await accept({ cc: ['c@x.example'], html: '<p>Hi</p>', tags: ['a'], metadata: { order: 7 } });
      const newer = await accept({
        from: { email: 'billing', name: 'Bills' },
        replyTo: ['r@x.example', 's@x.example'],
      });
      const { data, pagination } = await list();
      expect(data.map(({ id }) => id)).toEqual([newer, older]);
      expect(data[1]).toMatchObject({
        organizationId: tenant.organizationId,
        domainId: tenant.domainId,
        status: 'queued',
        fromEmail: `noreply@${tenant.domain}`,
        toEmails: ['ada@example.com'],
        ccEmails: ['c@x.example'],
        htmlBody: '<p>Hi</p>',
        textBody: 'Hello',
        tags: ['a'],
        metadata: { order: 7 },
        openCount: 0,
      });
      expect(data[0]).toMatchObject({ fromName: 'Bills', replyTo: 'r@x.example, s@x.example', tags: [] });
      expect(data[0]).not.toHaveProperty('bccEmails');
      expect(pagination).toEqual({ page: 1, limit: 20, total: 2, totalPages: 1 });
    });

    it('leaves out bodies over 64 KiB, and does without contents that are gone', async () => {
      const large = await accept({ html: 'é'.repeat(33_000) });
      const gone = await accept();
      await db.query('delete from email_contents where email_id = $1', [gone]);
      const { data } = await list();
      const byId = new Map(data.map((item) => [item.id, item]));
      expect(byId.get(large)).not.toHaveProperty('htmlBody');
      const [bodies] = await core.get(EmailListsRepository).findShortBodies(tenant.as('live'), [large], 64 * 1024);
      expect(bodies).toMatchObject({ emailId: large, html: null });
      expect(byId.get(large)).toMatchObject({ textBody: 'Hello' });
      expect(byId.get(gone)).not.toHaveProperty('textBody');
    });

    it('is narrowed by status, tag and domain', async () => {
      const domainId = await addDomain(db, tenant.organizationId, { domain: `second.${tenant.domain}` });
      const bounced = await accept({ tags: ['a', 'b'], to: ['r0@x.example'] });
      const tagged = await accept({ tags: ['b', 'a"{,}'] });
      const second = await accept({ from: `a@second.${tenant.domain}` });
      await record(recordedOutcome(tenant, bounced, HARD_BOUNCE));
      expect(await idsOf({ status: 'bounced' })).toEqual([bounced]);
      expect(await idsOf({ status: 'queued' })).toEqual([tagged, second].sort());
      expect(await idsOf({ tag: 'b' })).toEqual([bounced, tagged].sort());
      expect(await idsOf({ tag: 'a"{,}' })).toEqual([tagged]);
      expect(await idsOf({ tag: 'B' })).toEqual([]);
      expect(await idsOf({ domainId })).toEqual([second]);
      expect(await idsOf({ domainId, tag: 'b' })).toEqual([]);
    });

    it('is narrowed by recipient, in any spelling', async () => {
      const to = await accept({ to: ['Ada@Example.com', 'b@x.example'] });
      const cc = await accept({ to: ['c@x.example'], cc: ['ada@example.com'] });
      const bcc = await accept({ to: ['c@x.example'], bcc: ['ADA@example.com'] });
      await accept({ to: ['adam@example.com'] });
      for (const recipient of ['ada@example.com', 'ADA@EXAMPLE.COM', 'Ada@Example.com']) {
        expect(await idsOf({ recipient })).toEqual([to, cc, bcc].sort());
      }
      const wide = await accept({ to: ['Ärger@BÜCHER.example'] });
      for (const recipient of ['ärger@bücher.example', 'ÄRGER@xn--bcher-kva.example', 'A\u0308rger@bücher.example']) {
        expect({ recipient, ids: await idsOf({ recipient }) }).toEqual({ recipient, ids: [wide] });
      }
      await expect(idsOf({ recipient: 'no address' })).rejects.toMatchObject({ code: 'invalid_request' });
    });

    it('is narrowed by time of creation, to the millisecond', async () => {
      await acceptMany(3);
      const { data } = await list();
      const [newest, middle, oldest] = data.map(({ id, createdAt }) => ({ id, at: new Date(createdAt) }));
      if (!newest || !middle || !oldest) throw new Error('three were accepted');
      const sorted = (...items: { id: string }[]) => items.map(({ id }) => id).sort();
      const after = (at: Date) => new Date(at.getTime() + 1);
      expect(await idsOf({ from: middle.at })).toEqual(sorted(newest, middle));
      expect(await idsOf({ from: after(middle.at) })).toEqual(sorted(newest));
      expect(await idsOf({ to: middle.at })).toEqual(sorted(oldest));
      expect(await idsOf({ to: after(middle.at) })).toEqual(sorted(oldest, middle));
      expect(await idsOf({ from: middle.at, to: after(middle.at) })).toEqual(sorted(middle));
      expect(await idsOf({ from: new Date(Date.now() + HOUR) })).toEqual([]);
      expect(await idsOf({ from: new Date(0), to: new Date('2200-01-01') })).toHaveLength(3);
    });

    it('has pages', async () => {
      const ids = (await acceptMany(7)).reverse();
      const pages = await Promise.all([1, 2, 3, 4].map((page) => list({}, { page, limit: 3 })));
      expect(pages.map(({ data }) => data.map(({ id }) => id))).toEqual([
        ids.slice(0, 3),
        ids.slice(3, 6),
        ids.slice(6),
        [],
      ]);
      expect(pages[3]?.pagination).toEqual({ page: 4, limit: 3, total: 7, totalPages: 3 });
    });

    it('has cursors that new emails do not move', async () => {
      const ids = (await acceptMany(7)).reverse();
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const { data, pagination } = await list({}, { limit: 3, ...(cursor !== undefined && { cursor }) });
        seen.push(...data.map(({ id }) => id));
        cursor = pagination.nextCursor;
        await acceptMany(2);
      } while (cursor !== undefined);
      expect(seen).toEqual(ids);
    });

    it('refuses cursors that are none', () => {
      for (const cursor of ['x', 'AAAA', Buffer.from("' or true").toString('base64url')]) {
        expect(() => fromCursor(cursor)).toThrow('Request validation failed');
      }
    });
  });

  describe('a single email', () => {
    it('is shown as one commit left it, while others write', async () => {
      const seen = new Set<string>();
      for (let round = 0; round < 30; round += 1) {
        const id = await accept({ to: ['r0@x.example', 'r1@x.example'] });
        const outcomes = [0, 1].map((position) => recordedOutcome(tenant, id, { kind: 'delivered' }, { position }));
        const views = Array.from({ length: 8 }, () => emails.detail(tenant.as('live'), id));
        await record(...outcomes);
        for (const { email, recipients, events } of await Promise.all(views)) {
          seen.add([email.status, ...recipients.map(({ recipient }) => recipient.status), events.length].join(' '));
        }
      }
      expect(['queued queued queued 1', 'delivered delivered delivered 5']).toEqual(expect.arrayContaining([...seen]));
    });

    it('shows recipients, events and the next attempt', async () => {
      const id = await accept({ to: ['r0@x.example', 'r1@x.example'], bcc: ['r2@x.example'] });
      const smtp = { code: 451, response: '451 4.7.1 later' };
      await record(
        recordedOutcome(tenant, id, { kind: 'sending' }, { occurredAt: new Date() }),
        recordedOutcome(tenant, id, { ...DEFERRED, smtp } as typeof DEFERRED, { occurredAt: new Date() }),
        recordedOutcome(tenant, id, { kind: 'delivered' }, { position: 1, occurredAt: new Date() }),
      );
      const nextAttemptAt = new Date(Date.now() + HOUR);
      await db.query(`update deliveries set state = 'waiting', due_at = $2 where email_id = $1 and position = 0`, [
        id,
        nextAttemptAt,
      ]);
      await db.query('delete from deliveries where email_id = $1 and position = 1', [id]);
      await db.query(`update deliveries set state = 'claimed' where email_id = $1 and position = 2`, [id]);
      const detail = toDetailDto(await emails.detail(tenant.as('live'), id));
      expect(detail).toMatchObject({ id, status: 'delivered', toEmails: ['r0@x.example', 'r1@x.example'] });
      expect(detail.recipients).toEqual([
        {
          email: 'r0@x.example',
          kind: 'to',
          status: 'sending',
          attempts: 1,
          lastResponse: '451 4.7.1 later',
          nextAttemptAt: nextAttemptAt.toISOString(),
          waiting: {
            reason: 'retry',
            until: nextAttemptAt.toISOString(),
            detail: expect.stringContaining('451 4.7.1'),
          },
          endsAt: expect.any(String),
        },
        { email: 'r1@x.example', kind: 'to', status: 'delivered', attempts: 1 },
        // In a worker's hands, of which nothing is recorded yet.
        {
          ...{ email: 'r2@x.example', kind: 'bcc', status: 'sending', attempts: 0 },
          waiting: { reason: 'sending', detail: expect.any(String) },
          endsAt: expect.any(String),
        },
      ]);
      expect(detail.events.map(({ eventType }) => eventType)).toEqual([
        'queued',
        'sending',
        'deferred',
        'sent',
        'delivered',
      ]);
      expect(detail.events[2]?.eventData).toMatchObject({ recipient: 'r0@x.example', code: 451, attempt: 1 });
      expect((await emails.events(tenant.as('live'), id)).map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5]);
    });

    it('lists the events of several recipients by their times, of one in their order', async () => {
      const id = await accept({ to: ['r0@x.example', 'r1@x.example'] });
      const at = (seconds: number) => ({ occurredAt: new Date(Date.now() + seconds * 1_000) });
      await record(
        recordedOutcome(tenant, id, { kind: 'sending' }, { ...at(1), position: 0 }),
        recordedOutcome(tenant, id, { kind: 'delivered' }, { ...at(4), position: 0 }),
        recordedOutcome(tenant, id, { kind: 'sending' }, { ...at(2), position: 1 }),
        recordedOutcome(tenant, id, { kind: 'delivered' }, { ...at(3), position: 1 }),
      );
      const { events } = toDetailDto(await emails.detail(tenant.as('live'), id));
      const times = events.map(({ timestamp }) => timestamp);
      expect(times).toEqual([...times].sort());
      expect(events.map(({ eventType, eventData }) => [eventType, eventData.recipient])).toEqual([
        ['queued', undefined],
        ['sending', 'r0@x.example'],
        ['sending', 'r1@x.example'],
        ['sent', 'r1@x.example'],
        ['delivered', 'r1@x.example'],
        ['sent', 'r0@x.example'],
        ['delivered', 'r0@x.example'],
      ]);
      expect((await emails.events(tenant.as('live'), id)).map(({ eventType }) => eventType)).toEqual(
        events.map(({ eventType }) => eventType),
      );
    });

    it('lists events in the order of recording, whatever the clocks of the recording processes', async () => {
      const id = await accept({ to: ['r0@x.example'] });
      const early = { occurredAt: new Date(Date.now() - HOUR) };
      await record(recordedOutcome(tenant, id, { kind: 'sending' }, early));
      await record(recordedOutcome(tenant, id, { kind: 'delivered' }, early));
      const { events } = toDetailDto(await emails.detail(tenant.as('live'), id));
      expect(events.map(({ eventType }) => eventType)).toEqual(['queued', 'sending', 'sent', 'delivered']);
    });

    it('shows an email as sending from the claim on, before anything of it is recorded', async () => {
      const id = await accept({ to: ['r0@x.example'] });
      const shown = async () => (await emails.detail(tenant.as('live'), id)).email.status;
      expect(await shown()).toBe('queued');
      await db.query(`update deliveries set state = 'claimed' where email_id = $1`, [id]);
      expect(await shown()).toBe('sending');
      await expect(emails.cancel(tenant.as('live'), id)).rejects.toMatchObject({ details: { status: 'sending' } });
      await db.query(`update deliveries set state = 'ready' where email_id = $1`, [id]);
      expect(await shown()).toBe('queued');
    });

    it('names the phase of an old event as that of a new one', async () => {
      const id = await accept({ to: ['r0@x.example'] });
      await record(recordedOutcome(tenant, id, HARD_BOUNCE));
      await db.query(`update email_events set data = data || '{"phase": "final-dot"}' where event_type = 'bounced'`);
      const { events } = toDetailDto(await emails.detail(tenant.as('live'), id));
      expect(events.at(-1)?.eventData).toMatchObject({ phase: 'final', code: 550 });
    });

    it('shows its content until that is gone', async () => {
      const content = Buffer.from('%PDF').toString('base64');
      const attachments = [{ filename: 'a.pdf', content, contentType: 'application/pdf' }];
      const id = await accept({ html: '<p>Hi</p>', headers: { 'X-A': 'b' }, attachments });
      expect(toContentDto(await contents.content(tenant.as('live'), id))).toEqual({
        html: '<p>Hi</p>',
        text: 'Hello',
        headers: { 'X-A': 'b' },
        attachments: [{ filename: 'a.pdf', contentType: 'application/pdf', size: 4 }],
      });
      await db.query('delete from email_contents where email_id = $1', [id]);
      await expect(contents.content(tenant.as('live'), id)).rejects.toMatchObject({ code: 'resource_not_found' });
      await expect(emails.detail(tenant.as('live'), id)).resolves.toBeDefined();
    });
  });

  describe('emails that must not be visible get the response of unknown ones', () => {
    const UNKNOWN = { code: 'resource_not_found', message: 'Email not found' };

    async function expectHidden(viewer: TenantKey, id: string): Promise<void> {
      await expect(emails.detail(viewer, id)).rejects.toMatchObject(UNKNOWN);
      await expect(emails.events(viewer, id)).rejects.toMatchObject(UNKNOWN);
      await expect(contents.content(viewer, id)).rejects.toMatchObject(UNKNOWN);
      await expect(emails.cancel(viewer, id)).rejects.toMatchObject(UNKNOWN);
      expect(await idsOf({}, viewer)).not.toContain(id);
      expect(await idsOf({ recipient: 'ada@example.com' }, viewer)).not.toContain(id);
    }

    it('of another organization', async () => {
      const other = await createTenant(db);
      await expectHidden(other.as('live'), await accept());
    });

    it('of the other mode', async () => {
      await expectHidden(tenant.as('test'), await accept());
      await expectHidden(tenant.as('live'), await accept({}, tenant.as('test')));
    });

    it('of a domain that the key is not bound to', async () => {
      const domainId = await addDomain(db, tenant.organizationId, { domain: `second.${tenant.domain}` });
      const bound = tenant.as('live', domainId);
      await expectHidden(bound, await accept());
      const own = await accept({ from: `a@second.${tenant.domain}` });
      expect(await idsOf({}, bound)).toEqual([own]);
      expect(await idsOf({ domainId: tenant.domainId }, bound)).toEqual([]);
      await expect(emails.detail(bound, own)).resolves.toBeDefined();
    });

    it('or never was', async () => {
      for (const id of [newId(), 'x', '', "' or true --"]) await expectHidden(tenant.as('live'), id);
    });
  });
});
