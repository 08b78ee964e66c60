import { HOUR } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import { MailboxRepository } from '../../../src/modules/local-mailbox/mailbox.repository';
import { ExportHandler } from '../../../src/modules/privacy/export/export-handler.service';
import { ACCESS, PrivacyRequestsService } from '../../../src/modules/privacy/requests/privacy-requests.service';
import { RenewStatisticsJob } from '../../../src/modules/privacy/privacy-requests.job';
import { PrivacyWork } from '../../../src/modules/privacy/requests/privacy-work.service';
import { SuppressionListService } from '../../../src/modules/suppressions/suppression-list.service';
import { SuppressionsService } from '../../../src/modules/suppressions/suppressions.service';
import { insertInboundEmail } from '../../factories/inbound-emails';
import { DEFERRED, HARD_BOUNCE, SOFT_BOUNCE } from '../../factories/outcomes';
import { readCounters } from '../../factories/stored-email';
import { TABLES_THAT_SHOW } from './erased-columns';
import { ErasureScene } from './erasure-scene';

const ANN = 'Ann.Lee+news@x.example';
const BOB = 'bob@x.example';
/** Every spelling that must not be left. */
const SPELLINGS = [ANN, encodeURIComponent(ANN), 'Ann.Lee+news&#64;x.example', 'Ann Lee'];

const CONTENT = {
  subject: `Dear ${ANN.toUpperCase()}`,
  text: `Hello ${ANN}, see https://shop.example/?to=${encodeURIComponent(ANN)}`,
  html: `<p>${ANN.replace('@', '&#64;')} <a href="mailto:${ANN.toLowerCase()}">write</a></p>`,
  headers: { 'X-For': ANN },
  tags: ['welcome', ANN],
  metadata: { user: { email: ANN } },
  attachments: [{ filename: `${ANN}.txt`, content: Buffer.from(`for ${ANN}`).toString('base64') }],
};

describe('after an erasure', () => {
  let scene: ErasureScene;
  let sole: string;
  let shared: string;
  let scheduled: string;
  let kept: string;
  let countersBefore: Record<string, number>;
  beforeAll(async () => {
    scene = await ErasureScene.open();
    const scheduledAt = new Date(Date.now() + 600_000).toISOString();
    sole = (await scene.send({ ...CONTENT, to: [{ email: ANN, name: 'Ann Lee' }] })).id;
    shared = (await scene.send({ ...CONTENT, to: [{ email: ANN, name: 'Ann Lee' }, BOB], cc: ['c@x.example'] })).id;
    scheduled = (await scene.send({ to: [ANN], scheduledAt })).id;
    await scene.send({ to: [BOB], replyTo: [{ email: ANN, name: 'Ann Lee' }, 'desk@x.example'] });
    await scene.tell(sole, ANN, { ...DEFERRED, smtp: { code: 451, response: `451 <${ANN}> later` } } as never);
    await scene.tell(sole, ANN, { kind: 'opened', data: { ip: '192.0.2.0', userAgent: 'Mail/1' } });
    await scene.tell(shared, ANN, SOFT_BOUNCE);
    await scene.db.database.transaction((tx) => {
      const { organizationId } = scene.tenant;
      const look = { organizationId, mode: 'live' as const, email: ANN };
      scene.delivery.core.get(SuppressionsService).recordMissingDomains([look], tx);
      return Promise.resolve();
    });
    await scene.tell(shared, BOB, { ...DEFERRED, reason: `after ${ANN}` } as never, 1);
    await scene.tell(sole, ANN, { ...HARD_BOUNCE, smtp: { code: 550, response: `550 5.1.1 <${ANN}>` } } as never);
    await scene.delivery.core
      .get(SuppressionListService)
      .add({ organizationId: scene.tenant.organizationId, mode: 'live' }, { email: ANN, reason: 'manual', notes: ANN });
    await scene.send({ to: [ANN, BOB] }, { key: 'welcome-1' });
    await addReport();
    await addAnswer();
    await addInboundMail(`Ann Lee <${ANN}>`, 'Bob <bob@y.example>');
    await addInboundMail('Bob <bob@y.example>', ANN.toLowerCase());
    kept = await addInboundMail('Bob <bob@y.example>', 'Carl <carl@y.example>');
    await scene.worker
      .get(MailboxRepository)
      .insert([mailboxCopy(ANN, 'Hi'), mailboxCopy(BOB, ANN), mailboxCopy(BOB, '')]);
    await exportOf(ANN);
    countersBefore = await readCounters(scene.db, scene.tenant.organizationId);
  });
  afterAll(() => scene.close());

  /** One that no worker has read yet. */
  const addReport = () =>
    scene.db.query(
      `insert into inbound_reports (organization_id, mode, email_id, position, digest, id, raw)
       values ($1, 'live', $2, 0, '\\x01', $3, $4)`,
      [scene.tenant.organizationId, sole, newId(), Buffer.from(`To: ${ANN}`)],
    );

  /** As a release before has stored it. */
  const addAnswer = () =>
    scene.db.query(
      `with endpoint as (
         insert into webhook_endpoints (organization_id, mode, id, url, events, enabled, secret, position, created_at, updated_at)
         values ($1, 'live', $2, 'https://x.example', '{*}', true, '', $2, now(), now())
       )
       insert into webhook_messages (
         organization_id, mode, endpoint_id, id, email_id, sequence, event_type, state, next_attempt_at, created_at, last_answer
       )
       select $1, 'live', $2, v.id, v.email_id, v.sequence, v.event_type, 'failed', now(), now(), $4
       from email_events v
       where v.email_id = $3`,
      [scene.tenant.organizationId, newId(), sole, { body: `no ${ANN} here` }],
    );

  const addInboundMail = (from: string, to: string) =>
    insertInboundEmail(scene.db, { organizationId: scene.tenant.organizationId, from, to });

  const mailboxCopy = (recipient: string, text: string) => ({
    ...{
      id: newId(),
      receivedAt: new Date(),
      returnPath: 'b@x.example',
      sender: '',
      subject: '',
      organizationId: null,
    },
    recipients: [recipient],
    raw: Buffer.from(`To: ${recipient}\r\n\r\n${text}`),
  });

  async function exportOf(email: string): Promise<void> {
    const { organizationId } = scene.tenant;
    const requester = { organizationId, mode: 'live' as const, apiKeyId: newId() };
    await scene.worker.get(PrivacyRequestsService).createExport(requester, email, 'json');
    const leased = await scene.worker.get(PrivacyWork).claimNext(ACCESS);
    await scene.worker.get(ExportHandler).run(leased!, new AbortController().signal);
  }

  it('no table holds the address, in no spelling', async () => {
    expect(await scene.tablesWith(...SPELLINGS)).toEqual(TABLES_THAT_SHOW);
    const request = await scene.erase(ANN.toLowerCase());
    expect(request).toMatchObject({ status: 'completed', email: 'a***@x.example', subject: null, progress: {} });
    expect(request.receipt).toEqual({
      emailsAnonymized: 4,
      eventsAnonymized: expect.any(Number),
      recipientsAnonymized: 3,
      contentsDeleted: 2,
      deliveriesCancelled: 3,
      suppressionsRemoved: 1,
      suppressionsHashed: 1,
      mailboxCopiesDeleted: 2,
      reportsDeleted: 1,
      inboundEmailsDeleted: 2,
      exportsDeleted: 1,
      retentionExceptions: [{ category: 'suppression', reason: 'hard_bounce', basis: expect.any(String) }],
    });
    expect(await scene.tablesWith(...SPELLINGS)).toEqual([]);
    expect(await scene.db.query('select 1 from privacy_export_parts')).toEqual([]);
    expect(await scene.db.query('select id from inbound_emails')).toEqual([{ id: kept }]);
    expect(await scene.db.query('select email_id as id from inbound_email_parts')).toEqual([{ id: kept }]);
    expect(await scene.db.query('select emails::int from inbound_usage')).toEqual([{ emails: 1 }]);
  });

  it('an email without other recipients keeps its row and its history', async () => {
    const { email, content, recipients, events, attachments, deliveries } = await scene.delivery.read(sole);
    expect([content, attachments, deliveries]).toEqual([{}, [], []]);
    expect(email).toMatchObject({
      ...{ subject: '[erased]', to_emails: ['erased-0@erased.invalid'], tags: null, metadata: null },
      status: 'bounced',
    });
    expect(recipients).toMatchObject([{ address: 'erased-0@erased.invalid', last_response: null, status: 'bounced' }]);
    expect(events.map(({ event_type, data }) => [event_type, data])).toEqual([
      ['queued', {}],
      ['deferred', expect.objectContaining({ recipient: 'erased-0@erased.invalid', reason: 'greylisted', code: 451 })],
      ['opened', { recipient: 'erased-0@erased.invalid', attempt: 1 }],
      ['bounced', expect.objectContaining({ bounceType: 'hard', code: 550, reason: 'bad-mailbox' })],
      [
        'cancelled',
        {
          ...{ recipient: 'erased-0@erased.invalid', reason: 'cancelled', detail: 'erased' },
          explanation: 'It was cancelled because its recipient was erased',
        },
      ],
    ]);
  });

  it('an email to others can still leave for them', async () => {
    const { email, content, recipients, attachments, deliveries, events } = await scene.delivery.read(shared);
    expect(email).toMatchObject({
      subject: 'Dear [erased]',
      to_emails: ['erased-0@erased.invalid', BOB],
      tags: ['welcome', '[erased]'],
      metadata: { user: { email: '[erased]' } },
    });
    expect(content).toMatchObject({
      text: 'Hello [erased], see https://shop.example/?to=[erased]',
      html: '<p>[erased] <a href="mailto:[erased]">write</a></p>',
      headers: { 'X-For': '[erased]' },
      addressees: { to: [{ email: BOB }], cc: [{ email: 'c@x.example' }], replyTo: [] },
    });
    expect(attachments).toMatchObject([{ filename: '[erased].txt', size: 0, content: Buffer.alloc(0) }]);
    expect(recipients.map(({ address }) => address)).toEqual(['erased-0@erased.invalid', BOB, 'c@x.example']);
    expect(deliveries.map(({ recipient }) => recipient)).toEqual([BOB, 'c@x.example']);
    expect(events.find(({ data }) => data.recipient === BOB)?.data).toMatchObject({ reason: 'after [erased]' });
  });

  it('what was queued for the subject has ended, and counts as any other', async () => {
    const { email, events } = await scene.delivery.read(scheduled);
    expect(email).toMatchObject({ status: 'failed', failed_at: expect.any(Date) });
    expect(events.at(-1)).toMatchObject({ event_type: 'cancelled', source: 'system', data: { detail: 'erased' } });
    expect(await readCounters(scene.db, scene.tenant.organizationId)).toEqual({
      ...countersBefore,
      failed: (countersBefore.failed ?? 0) + 3,
    });
  });

  it('a repeated request with an idempotency key gets the stored response', async () => {
    const again = await scene.send({ to: [ANN, BOB] }, { key: 'welcome-1' });
    expect(again.suppressed).toEqual([{ email: '[erased]', reason: 'hard_bounce' }]);
  });

  it('the samples of values that Postgres keeps for its planner lose the address', async () => {
    const sampled = () =>
      scene.db.query(
        `select tablename, attname from pg_stats
         where concat_ws(' ', most_common_vals, histogram_bounds, most_common_elems) ilike '%dana@x.example%'`,
      );
    for (let count = 0; count < 3; count += 1) await scene.send({ to: ['dana@x.example'], subject: `dana@x.example` });
    await scene.db.query('analyze');
    await scene.erase('dana@x.example');
    expect(await sampled()).not.toEqual([]);
    const job = scene.worker.get(RenewStatisticsJob);
    await job.renew();
    expect(await sampled()).not.toEqual([]);
    scene.clock.advance(13 * HOUR);
    await job.renew();
    expect(await sampled()).toEqual([]);
  });
});
