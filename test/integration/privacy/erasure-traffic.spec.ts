import { ErasableEmailsRepository } from '../../../src/modules/emails/privacy/subject-emails.repository';
import { Claimer } from '../../../src/delivery/worker/claims/claimer';
import { DeliveryQueueRepository } from '../../../src/delivery/queue/delivery-queue.repository';
import { Database } from '../../../src/database/pool/database.service';
import { MINUTE, SECOND } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import { ErasureHandler } from '../../../src/modules/privacy/erasure/erasure-handler.service';
import { ERASURE } from '../../../src/modules/privacy/requests/privacy-requests.service';
import { LeaseLostError, PrivacyWork } from '../../../src/modules/privacy/requests/privacy-work.service';
import { EmailsService } from '../../../src/modules/emails/emails.service';
import type { Transaction } from '../../../src/database/statements/transaction';
import { OutcomeRecorder } from '../../../src/modules/emails/outcomes/outcome-recorder.service';
import { OutcomesRepository } from '../../../src/modules/emails/outcomes/outcomes.repository';
import { MailboxRepository } from '../../../src/modules/local-mailbox/mailbox.repository';
import { InboundReportsRepository } from '../../../src/modules/inbound-reports/queue/inbound-reports.repository';
import { EmailLookupService } from '../../../src/modules/emails/email-lookup.service';
import { SmtpSink } from '../../doubles/smtp-sink';
import { HARD_BOUNCE, SOFT_BOUNCE } from '../../factories/outcomes';
import { waitFor } from '../../setup/wait-for';
import { ErasureScene } from './erasure-scene';

const NONE = {
  ...{ emailsAnonymized: 0, eventsAnonymized: 0, recipientsAnonymized: 0, contentsDeleted: 0, deliveriesCancelled: 0 },
  ...{ suppressionsRemoved: 0, suppressionsHashed: 0, mailboxCopiesDeleted: 0, reportsDeleted: 0, exportsDeleted: 0 },
  ...{ inboundEmailsDeleted: 0 },
  retentionExceptions: [],
};

describe('an erasure while mail flows', () => {
  let scene: ErasureScene;
  let ann: string;
  let number = 0;
  beforeAll(async () => {
    scene = await ErasureScene.open();
  });
  beforeEach(() => {
    number += 1;
    ann = `ann${number}@x.example`;
  });
  afterEach(() => scene.db.query('delete from deliveries; delete from worker_sessions'));
  afterAll(() => scene.close());

  const later = () => new Date(scene.clock.now().getTime() + 10 * MINUTE).toISOString();
  const key = (emailId: string) => ({ organizationId: scene.tenant.organizationId, mode: 'live' as const, emailId });

  const isWaiting = async () =>
    (
      await scene.db.query(
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
      )
    ).length > 0;

  const mailboxCopy = (recipient: string) => ({
    ...{ id: newId(), receivedAt: new Date(), returnPath: 'b@x.example', sender: '', subject: '' },
    ...{ organizationId: scene.tenant.organizationId, recipients: [recipient] },
    raw: Buffer.from(`To: ${recipient}\r\n\r\n`),
  });

  /** What a worker has in its hands. */
  async function claim() {
    const session = newId();
    await scene.db.query(
      `insert into worker_sessions (id, host, process_id, lease_until) values ($1, 'h', 1, now() + interval '1 hour')`,
      [session],
    );
    return scene.worker.get(Claimer).claim(session, { limit: 10 });
  }

  it('of an unknown address completes with zero counts', async () => {
    const request = await scene.erase(ann);
    expect(request).toMatchObject({ status: 'completed', receipt: NONE, subject: null });
  });

  it('does not change another organization, or the other mode', async () => {
    const other = await scene.newTenant();
    await scene.send({ to: [ann] }, { as: other });
    await scene.send({ to: [ann] }, { mode: 'test' });
    const rows = () => scene.db.query('select * from email_recipients where address = $1 order by email_id', [ann]);
    const before = await rows();
    expect(before).toHaveLength(2);
    expect((await scene.erase(ann)).receipt).toEqual(NONE);
    expect(await rows()).toEqual(before);
  });

  it('waits for a delivery that a worker has, and erases it then', async () => {
    const { id } = await scene.send({ to: [ann] });
    const [held] = await claim();
    expect(held).toMatchObject({ recipient: ann });
    const request = await scene.request(ann);
    await scene.workOff();
    expect(await scene.read(request)).toMatchObject({ status: 'pending', completedAt: null });
    expect((await scene.delivery.read(id)).recipients).toMatchObject([{ address: ann }]);
    // In local mode it gets into the mailbox now, after the erasure has begun.
    await scene.worker.get(MailboxRepository).insert([mailboxCopy(ann)]);

    const now = scene.clock.now();
    await scene.worker.get(Database).transaction(async (tx) => {
      await scene.worker.get(DeliveryQueueRepository).settle([{ ...held!, nextAttemptAt: null }], now, tx);
    });
    await scene.tell(id, ann, { kind: 'delivered', smtp: { code: 250, response: `250 <${ann}>` } });
    scene.clock.advance(MINUTE);
    await scene.workOff();
    expect(await scene.read(request)).toMatchObject({
      status: 'completed',
      receipt: { emailsAnonymized: 1, deliveriesCancelled: 0, mailboxCopiesDeleted: 1 },
    });
    expect(await scene.tablesWith(ann)).toEqual([]);
    const { email, recipients } = await scene.delivery.read(id);
    expect(email.status).toBe('delivered');
    expect(recipients).toMatchObject([{ address: 'erased-0@erased.invalid', last_response: null }]);
  });

  it('finds what mail has left that became visible late', async () => {
    const { id } = await scene.send({ to: [ann] });
    // Its acceptance is not committed yet.
    const name = (address: string) =>
      scene.db.query('update email_recipients set address = $2 where email_id = $1', [id, address]);
    await name('hidden@x.example');
    const work = scene.worker.get(PrivacyWork);
    const saveProgress = work.saveProgress.bind(work);
    const save = jest.spyOn(work, 'saveProgress').mockImplementation(async (leased, progress, tx) => {
      if (progress.step === 'late' && progress.after === undefined) {
        save.mockRestore();
        await name(ann);
        await scene.db.query(
          `insert into idempotency_keys (organization_id, mode, path, key, fingerprint, response, created_at)
           values ($1, 'live', '/v1/emails', $2, '', $3, now())`,
          [scene.tenant.organizationId, `k-${number}`, JSON.stringify({ suppressed: [{ email: ann }] })],
        );
        await scene.db.query('delete from deliveries where email_id = $1', [id]);
        await scene.tell(id, ann, HARD_BOUNCE);
      }
      await saveProgress(leased, progress, tx);
    });
    expect((await scene.erase(ann)).receipt).toMatchObject({ emailsAnonymized: 1, suppressionsHashed: 1 });
    expect(await scene.tablesWith(ann)).toEqual([]);
  });

  it('finds mail from the subject that became visible late', async () => {
    const sender = `ann${number}@${scene.tenant.domain}`;
    const { id } = await scene.send({ to: ['bob@x.example'], from: sender });
    const write = (from: string) => scene.db.query('update emails set from_email = $2 where id = $1', [id, from]);
    await write('hidden@x.example');
    const work = scene.worker.get(PrivacyWork);
    const saveProgress = work.saveProgress.bind(work);
    const save = jest.spyOn(work, 'saveProgress').mockImplementation(async (leased, progress, tx) => {
      if (progress.step === 'late' && progress.after === undefined) {
        save.mockRestore();
        await write(sender);
      }
      await saveProgress(leased, progress, tx);
    });
    expect((await scene.erase(sender)).receipt).toMatchObject({ emailsAnonymized: 1 });
    expect(await scene.tablesWith(sender)).toEqual([]);
  });

  it('reads long replies of other recipients’ servers a few at a time', async () => {
    const ids: string[] = [];
    for (let index = 0; index < 7; index += 1) ids.push((await scene.send({ to: [ann, 'bob@x.example'] })).id);
    await scene.db.query(
      `insert into email_events (organization_id, mode, email_id, sequence, id, event_type, source, occurred_at, data)
       select $1, 'live', email_id, 100 + n, event_id(now(), n), 'deferred', 'worker', now(),
         jsonb_build_object('recipient', 'bob@x.example', 'response', $3::text)
       from unnest($2::uuid[]) email_id, generate_series(1, 60) n`,
      [scene.tenant.organizationId, ids, `450 not with <${ann}>`],
    );
    const read = jest.spyOn(scene.worker.get(ErasableEmailsRepository), 'readEvents');
    expect((await scene.erase(ann)).receipt).toMatchObject({ emailsAnonymized: 7 });
    const sizes = await Promise.all(
      read.mock.results.map(
        async ({ value }) => (await (value as ReturnType<ErasableEmailsRepository['readEvents']>)).length,
      ),
    );
    read.mockRestore();
    expect(Math.max(...sizes)).toBeLessThanOrEqual(200);
    expect(await scene.tablesWith(ann)).toEqual([]);
  });

  it('locks emails in the order in which workers do', async () => {
    const [sent, open] = [await scene.send({ to: [ann] }), await scene.send({ to: [ann] })];
    await scene.db.query('delete from deliveries where email_id = $1', [sent.id]);
    await scene.request(ann);
    const record = jest.spyOn(scene.worker.get(OutcomeRecorder), 'record');
    const database = scene.worker.get(Database);
    const lock = (emailId: string, tx: Transaction) => scene.worker.get(OutcomesRepository).lock([key(emailId)], tx);
    let erasing: Promise<void> | undefined;
    await database.transaction(async (tx) => {
      await lock(sent.id, tx);
      erasing = scene.workOff();
      await waitFor(isWaiting, { what: 'the erasure to wait' });
      await lock(open.id, tx);
    });
    await erasing;
    // A deadlock would have been tried again.
    expect(record.mock.calls.filter(([outcomes]) => outcomes.length > 0)).toHaveLength(1);
    record.mockRestore();
  });

  it('locks reports before emails, in the same order as their processing', async () => {
    const { id } = await scene.send({ to: [ann] });
    const [report] = await scene.db.query(
      `insert into inbound_reports (organization_id, mode, email_id, position, digest, id, raw, attempts, claimed_until)
       values ($1, 'live', $2, 0, '\\x01', $3, '', 1, now() + interval '1 hour') returning id`,
      [scene.tenant.organizationId, id, newId()],
    );
    await scene.request(ann);
    const record = jest.spyOn(scene.worker.get(OutcomeRecorder), 'record');
    let erasing: Promise<void> | undefined;
    await scene.worker.get(Database).transaction(async (tx) => {
      const claimed = { table: 'inbound_reports', id: report?.id, attempts: 1 } as never;
      const end = { processedAt: new Date(), disposition: 'hard_bounce', subject: undefined };
      expect(await scene.worker.get(InboundReportsRepository).settle(claimed, end, tx)).toBe(true);
      erasing = scene.workOff();
      await waitFor(isWaiting, { what: 'the erasure to wait' });
      await scene.worker.get(OutcomesRepository).lock([key(id)], tx);
    });
    await erasing;
    expect(record.mock.calls.filter(([outcomes]) => outcomes.length > 0)).toHaveLength(1);
    record.mockRestore();
  });

  it('gives up on a delivery that never ends a day after it began to wait, not after the request', async () => {
    await scene.send({ to: [ann] });
    await claim();
    const request = await scene.request(ann);
    // No worker has run meanwhile.
    scene.clock.advance(25 * 60 * MINUTE);
    await scene.workOff();
    expect((await scene.read(request)).status).toBe('pending');
    scene.clock.advance(25 * 60 * MINUTE);
    await scene.workOff();
    expect(await scene.read(request)).toMatchObject({
      status: 'failed',
      failure: 'deliveries_under_way',
      progress: {},
    });
    expect((await scene.read(request)).progress).toEqual({});
  });

  it('ends although mail to the subject keeps coming, and leaves what came after its start', async () => {
    const old = await scene.send({ to: [ann] });
    const request = await scene.request(ann);
    const sends: Promise<{ id: string }>[] = [];
    for (let n = 0; n < 60; n += 1) sends.push(scene.send({ to: [ann, `r${n}@x.example`] }));
    await scene.workOff();
    const ids = (await Promise.all(sends)).map((email) => email.id);
    expect(await scene.read(request)).toMatchObject({ status: 'completed' });
    expect((await scene.delivery.read(old.id)).recipients).toMatchObject([{ address: 'erased-0@erased.invalid' }]);
    const { id } = await scene.send({ to: [ann] });
    expect((await scene.delivery.read(id)).deliveries).toMatchObject([{ recipient: ann }]);
    // Nothing is left half erased.
    const torn = await scene.db.query(
      `select r.status, r.address, d.recipient
       from email_recipients r
       left join deliveries d using (organization_id, mode, email_id, position)
       where r.email_id = any($1) and (d.recipient <> r.address or (d.recipient is null and r.status = 'queued'))`,
      [ids],
    );
    expect(torn).toEqual([]);
  });

  it('others of the same email get theirs, without a trace of the subject', async () => {
    const scheduledAt = later();
    const { id } = await scene.send({ to: [ann], cc: ['bob@x.example'], text: `Hi ${ann}`, scheduledAt });
    await scene.erase(ann);
    await scene.db.query(`update deliveries set state = 'ready', due_at = now() - interval '1 second'`);
    const sink = await SmtpSink.start();
    const sender = await scene.delivery.startWorker({ hopPort: sink.port, isFinalHop: true });
    const { recipients } = await scene.delivery.readWhenStatus(id, 'delivered');
    expect(recipients.map(({ status }) => status)).toEqual(['failed', 'delivered']);
    expect(sink.messages.map((message) => message.recipients)).toEqual([['bob@x.example']]);
    const mail = sink.messages[0]?.content.toString() ?? '';
    expect(mail).toContain('Hi [erased]');
    // A signature may contain any three letters.
    expect(mail.replace(/^DKIM-Signature:.*\r\n(?:[ \t].*\r\n)*/im, '')).not.toContain('ann');
    await sender.close();
    await sink.stop();
  });

  it('the email can be cancelled for the others, once', async () => {
    const { id } = await scene.send({ to: [ann, 'bob@x.example'], cc: ['cyd@x.example'], scheduledAt: later() });
    await scene.erase(ann);
    const emails = scene.worker.get(EmailsService);
    const { organizationId } = scene.tenant;
    await emails.cancel({ organizationId, mode: 'live' }, id);
    const { email, recipients, deliveries, events } = await scene.delivery.read(id);
    expect(deliveries).toEqual([]);
    expect(email.status).toBe('failed');
    expect(recipients.map(({ status }) => status)).toEqual(['failed', 'failed', 'failed']);
    expect(events.filter(({ event_type }) => event_type === 'cancelled').map(({ data }) => data.recipient)).toEqual([
      ...['erased-0@erased.invalid', 'bob@x.example', 'cyd@x.example'],
    ]);
    const again = emails.cancel({ organizationId, mode: 'live' }, id);
    await expect(again).rejects.toMatchObject({ code: 'email_not_cancellable' });
  });

  it('an email to the subject alone cannot be cancelled any more', async () => {
    const { id } = await scene.send({ to: [ann], scheduledAt: later() });
    await scene.erase(ann);
    const tenant = { organizationId: scene.tenant.organizationId, mode: 'live' as const };
    await expect(scene.worker.get(EmailsService).cancel(tenant, id)).rejects.toMatchObject({
      code: 'email_not_cancellable',
    });
  });

  it('later events of an erased recipient contain no data about it', async () => {
    const { id } = await scene.send({ to: [ann] });
    await scene.erase(ann);
    await scene.tell(id, ann, { ...HARD_BOUNCE, smtp: { code: 550, response: `550 <${ann}>` } } as never);
    await scene.tell(id, ann, { ...SOFT_BOUNCE });
    await scene.tell(id, ann, { kind: 'unsubscribed', data: { ip: '192.0.2.1' } });
    await scene.tell(id, ann, { kind: 'spam_report', data: { text: ann } });
    const { events } = await scene.delivery.read(id);
    expect(events.slice(-3).map(({ event_type, data }) => [event_type, data])).toEqual([
      [
        'bounced',
        {
          recipient: 'erased-0@erased.invalid',
          attempt: 1,
          bounceType: 'hard',
          reason: 'bad-mailbox',
          explanation: 'The receiving server refused it',
          code: 550,
        },
      ],
      ['unsubscribed', { recipient: 'erased-0@erased.invalid', attempt: 1 }],
      ['spam_report', { recipient: 'erased-0@erased.invalid', attempt: 1 }],
    ]);
    expect(await scene.db.query("select 1 from suppressions where email like 'erased%'")).toEqual([]);
    expect(await scene.db.query("select 1 from soft_bounces where address_key like 'erased%'")).toEqual([]);
    const lookup = scene.worker.get(EmailLookupService);
    expect(await lookup.findRecipient({ ...key(id), position: 0 })).toBeUndefined();
  });

  it('continues where a worker lost it, and counts each page once', async () => {
    const ids = await Promise.all(Array.from({ length: 120 }, () => scene.send({ to: [ann] })));
    const request = await scene.request(ann);
    const work = scene.worker.get(PrivacyWork);
    const lost = await work.claimNext(ERASURE);
    const ending = new AbortController();
    const saved = jest.spyOn(work, 'saveProgress').mockImplementationOnce(async (...given) => {
      saved.mockRestore();
      await work.saveProgress(...given);
      ending.abort();
    });
    await scene.worker.get(ErasureHandler).run(lost!, ending.signal);
    const { count } = (
      await scene.db.query('select count(*)::int from email_recipients where address = $1', [ann])
    )[0]!;
    expect(count).toBe(70);

    await scene.workOff();
    await expect(scene.worker.get(ErasureHandler).run(lost!, new AbortController().signal)).rejects.toThrow(
      LeaseLostError,
    );
    expect(await scene.read(request)).toMatchObject({
      status: 'completed',
      receipt: { emailsAnonymized: ids.length, deliveriesCancelled: ids.length, contentsDeleted: ids.length },
    });
  });

  it('a dead worker’s claim is freed and withdrawn', async () => {
    const { id } = await scene.send({ to: [ann] });
    await claim();
    const request = await scene.request(ann);
    await scene.workOff();
    await scene.db.query("update worker_sessions set lease_until = now() - interval '1 hour'");
    await scene.worker.get(Database).transaction((tx) => scene.worker.get(DeliveryQueueRepository).reap(10, tx));
    scene.clock.advance(10 * SECOND);
    await scene.workOff();
    expect(await scene.read(request)).toMatchObject({ status: 'completed', receipt: { deliveriesCancelled: 1 } });
    expect((await scene.delivery.read(id)).email.status).toBe('failed');
  });
});
