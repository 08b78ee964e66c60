import { DAY, HOUR, MINUTE } from '../../../src/common/clock';
import { QueueSweepJob, RecordSendingJob } from '../../../src/delivery/worker/queue.job';
import { FakeClock } from '../../doubles/fake-clock';
import { SmtpSink } from '../../doubles/smtp-sink';
import { readCounters, type StoredEmail } from '../../factories/stored-email';
import { addSuppression } from '../../factories/tenants';
import type { Core } from '../../setup/core-context';
import { DeliveryScene } from '../../setup/delivery-scene';
import { waitFor } from '../../setup/wait-for';

const eventTypes = ({ events }: StoredEmail) => events.map(({ event_type }) => event_type);
const lastEvent = ({ events }: StoredEmail) => events.at(-1);

describe('a worker', () => {
  let clock: FakeClock;
  let scene: DeliveryScene;
  let sink: SmtpSink;

  beforeAll(async () => {
    clock = new FakeClock();
    scene = await DeliveryScene.open(clock);
  });
  beforeEach(async () => {
    sink = await SmtpSink.start();
  });
  afterEach(async () => {
    await scene.clear();
    await sink.stop();
  });
  afterAll(() => scene.close());

  const start = (isFinalHop = false): Promise<Core> => scene.startWorker({ hopPort: sink.port, isFinalHop });
  const suppressions = () => scene.db.query('select email, reason from suppressions');

  describe('records the outcome of each recipient', () => {
    it('taken by a relay', async () => {
      const before = await readCounters(scene.db, scene.tenant.organizationId);
      const [id = ''] = await scene.acceptTo('ada');
      await start();
      const rows = await scene.readWhenStatus(id, 'sent');
      expect(eventTypes(rows)).toEqual(['queued', 'sending', 'sent']);
      expect(lastEvent(rows)).toMatchObject({
        source: 'smtp',
        data: { recipient: 'ada@x.example', attempt: 1, code: 250, response: '250 2.0.0 taken', tls: false },
      });
      expect(rows.recipients).toMatchObject([{ status: 'sent', attempts: 1, last_response: '250 2.0.0 taken' }]);
      expect(rows.deliveries).toEqual([]);
      const after = await readCounters(scene.db, scene.tenant.organizationId);
      expect(after.sent).toBe((before.sent ?? 0) + 1);
      expect(after.delivered).toBe(before.delivered);
    });

    it('taken by its own server', async () => {
      const [id = ''] = await scene.acceptTo('ada');
      await start(true);
      const rows = await scene.readWhenStatus(id, 'delivered');
      expect(eventTypes(rows)).toEqual(['queued', 'sending', 'sent', 'delivered']);
      expect(rows.email).toMatchObject({ sent_at: clock.now(), delivered_at: clock.now() });
    });

    it('in order, from acceptance on', async () => {
      const [id = ''] = await scene.acceptTo('ada');
      await start();
      const { events } = await scene.readWhenStatus(id, 'sent');
      const [queued, sending] = events.map(({ occurred_at }) => occurred_at.getTime());
      expect(sending).toBeGreaterThanOrEqual(queued ?? Infinity);
    });

    it('that its attempt has begun, once that lasts', async () => {
      const [id = ''] = await scene.acceptTo('hang-at-rcpt');
      const worker = await start();
      await sink.waitFor(() => sink.openConnections > 0, 'a connection');
      const job = worker.get(RecordSendingJob);
      await job.recordLate();
      expect((await scene.read(id)).email.status).toBe('queued');
      clock.advance(2_000);
      await job.recordLate();
      // The worker's own run may have been first, and not be done.
      const told = await scene.readWhenStatus(id, 'sending');
      expect(eventTypes(told)).toEqual(['queued', 'sending']);
      expect(told).toMatchObject({ email: { status: 'sending' }, recipients: [{ status: 'sending' }] });
      await job.recordLate();
      await sink.stop();
      const rows = await scene.readWhen(id, (found) => eventTypes(found).includes('deferred'), 'a deferral');
      expect(eventTypes(rows)).toEqual(['queued', 'sending', 'deferred']);
    });

    it('refused for good', async () => {
      const [id = ''] = await scene.acceptTo('rcpt-550-5.1.1');
      await start();
      const rows = await scene.readWhenStatus(id, 'bounced');
      expect(eventTypes(rows)).toEqual(['queued', 'sending', 'bounced']);
      expect(lastEvent(rows)?.data).toMatchObject({ bounceType: 'hard', code: 550, enhancedCode: '5.1.1', attempt: 1 });
      expect(rows.deliveries).toEqual([]);
      expect(await suppressions()).toEqual([{ email: 'rcpt-550-5.1.1@x.example', reason: 'hard_bounce' }]);
    });

    it('refused for now', async () => {
      const [id = ''] = await scene.acceptTo('rcpt-451');
      await start();
      const rows = await scene.readWhen(id, (found) => eventTypes(found).includes('deferred'), 'a deferral');
      const dueAt = rows.deliveries[0]?.due_at as Date;
      expect(rows.deliveries).toMatchObject([{ state: 'waiting', attempt: 1, session_id: null }]);
      expect(lastEvent(rows)?.data).toMatchObject({ code: 451, nextAttemptAt: dueAt.toISOString() });
      expect(rows.email.status).toBe('sending');
      expect(await suppressions()).toEqual([]);
    });

    it('unknown, when the reply to the final dot is lost', async () => {
      const [id = ''] = await scene.acceptTo('close-after-dot');
      await start();
      const rows = await scene.readWhen(id, (found) => eventTypes(found).includes('unknown'), 'an unknown outcome');
      expect(lastEvent(rows)?.data).toMatchObject({ reason: 'outcome_unknown', attempt: 1, phase: 'final' });
      expect(lastEvent(rows)?.data).toHaveProperty('nextAttemptAt');
      expect(rows.email.status).toBe('sending');
      expect(rows.deliveries).toMatchObject([{ state: 'waiting', attempt: 1 }]);
      expect(sink.unanswered).toHaveLength(1);
    });

    it('several of one email, each by itself', async () => {
      const to = ['ada@x.example', 'rcpt-550-5.1.1@x.example', 'rcpt-451@x.example'];
      const id = await scene.accept({ to, bcc: ['close-after-dot@x.example'] });
      await start(true);
      const rows = await scene.readWhen(id, ({ recipients }) => recipients.every((r) => r.attempts === 1), 'attempts');
      expect(rows.recipients.map(({ status }) => status)).toEqual(['delivered', 'bounced', 'sending', 'sending']);
      expect(rows.deliveries.map(({ position }) => position)).toEqual([2, 3]);
      expect(rows.events.map(({ sequence }) => sequence)).toEqual(rows.events.map((_, n) => n + 1));
      expect(rows.email).toMatchObject({ status: 'delivered', event_sequence: rows.events.length });
      const [first, second] = [...sink.messages, ...sink.unanswered];
      expect(first?.content.equals(second?.content ?? Buffer.alloc(0))).toBe(true);
      expect(first?.content.toString()).not.toContain('close-after-dot');
      expect(first?.from).not.toBe(second?.from);
    });

    it.each([
      ['delivered', 'delivered', ['queued', 'sending', 'sent', 'delivered']],
      ['bounced', 'bounced', ['queued', 'sending', 'bounced']],
      ['complained', 'delivered', ['queued', 'sending', 'sent', 'delivered', 'spam_report']],
      ['opened', 'delivered', ['queued', 'sending', 'sent', 'delivered', 'opened']],
    ])('of test mail to %s@, without a network', async (localPart, status, types) => {
      const id = await scene.accept({ to: [`${localPart}+1@simulator.waybill.test`] }, 'test');
      await start();
      expect(eventTypes(await scene.readWhenStatus(id, status))).toEqual(types);
      expect(sink.connectionCount).toBe(0);
    });
  });

  describe('tries again', () => {
    it('when it is due, and not before', async () => {
      const [id = ''] = await scene.acceptTo('rcpt-450-greylist');
      await start();
      await scene.readWhen(id, ({ deliveries }) => deliveries[0]?.state === 'waiting', 'a deferral');
      // 90 s, give or take a fifth.
      clock.advance(71_000);
      const [probe = ''] = await scene.acceptTo('probe');
      await scene.readWhenStatus(probe, 'sent');
      expect((await scene.read(id)).deliveries).toMatchObject([{ state: 'waiting' }]);
      clock.advance(38_000);
      const rows = await scene.readWhenStatus(id, 'sent');
      expect(eventTypes(rows)).toEqual(['queued', 'sending', 'deferred', 'sent']);
      expect(rows.recipients).toMatchObject([{ attempts: 2 }]);
    });

    it('with the same bytes after an unknown outcome', async () => {
      sink.behaviours.set('ada@x.example', 'close-after-dot');
      const [id = ''] = await scene.acceptTo('ada');
      await start();
      await scene.readWhen(id, ({ deliveries }) => deliveries[0]?.state === 'waiting', 'a deferral');
      sink.behaviours.clear();
      clock.advance(2 * MINUTE);
      await scene.readWhenStatus(id, 'sent');
      const [first, second] = [sink.unanswered[0], sink.messages[0]];
      expect(first?.content.toString('latin1')).toBe(second?.content.toString('latin1'));
      expect(first?.from).toBe(second?.from);
    });

    it('a last time a minute before the end that the mail has, and then says why in plain words', async () => {
      const end = new Date(clock.now().getTime() + HOUR);
      const id = await scene.accept({ to: ['rcpt-451@x.example'], expiresAt: end.toISOString() });
      await start();
      const afterAttempt = (attempts: number) =>
        scene.readWhen(
          id,
          ({ deliveries, recipients }) => deliveries[0]?.state === 'waiting' && recipients[0]?.attempts === attempts,
          `attempt ${attempts}`,
        );
      await afterAttempt(1);
      clock.advance(58 * MINUTE);
      const { deliveries } = await afterAttempt(2);
      expect(deliveries[0]?.due_at).toEqual(new Date(end.getTime() - MINUTE));
      clock.advance(MINUTE);
      const { type, data } = await scene
        .readWhenStatus(id, 'failed')
        .then((rows) => ({ type: lastEvent(rows)?.event_type, data: lastEvent(rows)?.data }));
      expect([type, data]).toMatchObject(['failed', { reason: 'expired', attempt: 3, code: 451 }]);
      const explanation = /^It was not delivered within its time: it was tried 3 times; the last answer was: 451 /;
      expect(data?.explanation).toMatch(explanation);
    });

    it('for four days, then no more', async () => {
      const [id = ''] = await scene.acceptTo('rcpt-451');
      await start();
      for (let day = 0; day < 4; day += 1) {
        const isDeferred = ({ deliveries, recipients }: StoredEmail) =>
          deliveries[0]?.state === 'waiting' && recipients[0]?.attempts === day + 1;
        await scene.readWhen(id, isDeferred, `deferral ${day + 1}`);
        clock.advance(DAY);
      }
      const rows = await scene.readWhenStatus(id, 'bounced');
      expect(lastEvent(rows)?.data).toMatchObject({
        ...{ bounceType: 'soft', reason: expect.stringContaining('exhausted') },
        explanation: expect.stringMatching(/^It was not delivered within its time: it was tried [45] times/),
      });
      expect(rows.deliveries).toEqual([]);
      expect(await suppressions()).toEqual([]);
    });
  });

  describe('makes no attempt', () => {
    const failure = (rows: StoredEmail) => ({ type: lastEvent(rows)?.event_type, ...lastEvent(rows)?.data });

    it('after the time that the email gave itself', async () => {
      const expiresAt = () => new Date(clock.now().getTime() + MINUTE).toISOString();
      const late = await scene.accept({ expiresAt: expiresAt() });
      clock.advance(MINUTE);
      const soon = await scene.accept({ to: ['rcpt-451@x.example'], expiresAt: expiresAt() });
      await start();
      expect(failure(await scene.readWhenStatus(late, 'failed'))).toMatchObject({
        ...{ type: 'failed', reason: 'expired' },
        explanation:
          'It was not delivered within its time: no attempt could begin; it was due, and its turn had not come',
      });
      // The second attempt would come after the limit.
      const rows = await scene.readWhenStatus(soon, 'failed');
      expect(failure(rows)).toMatchObject({ type: 'failed', reason: 'expired', attempt: 1 });
      expect(sink.messageCount).toBe(0);
    });

    it('before its time', async () => {
      const scheduledAt = new Date(clock.now().getTime() + HOUR);
      const id = await scene.accept({ scheduledAt: scheduledAt.toISOString() });
      await start();
      clock.advance(HOUR - 1_000);
      const [probe = ''] = await scene.acceptTo('probe');
      await scene.readWhenStatus(probe, 'sent');
      expect((await scene.read(id)).email.status).toBe('scheduled');
      clock.advance(1_000);
      const rows = await scene.readWhenStatus(id, 'sent');
      expect(eventTypes(rows)).toEqual(['scheduled', 'queued', 'sending', 'sent']);
      expect(sink.messages.at(-1)?.content.toString()).toContain(
        `Date: ${scheduledAt.toUTCString().replace('GMT', '+0000')}`,
      );
    });

    it('at a recipient suppressed since', async () => {
      const id = await scene.accept({ to: ['Ada@x.example', 'bob@x.example'] });
      await addSuppression(scene.db, scene.tenant, { email: 'ada@x.example', reason: 'manual' });
      await start();
      const rows = await scene.readWhenStatus(id, 'sent');
      expect(rows.recipients.map(({ status }) => status)).toEqual(['failed', 'sent']);
      expect(rows.events.find(({ event_type }) => event_type === 'blocked')?.data).toMatchObject({ detail: 'manual' });
      expect(sink.messages.flatMap(({ recipients }) => recipients)).toEqual(['bob@x.example']);
    });

    it('without content, without a key, or when it killed its workers', async () => {
      const [gone = '', keyless = '', poison = ''] = await scene.acceptTo('a', 'b', 'c');
      await scene.db.query('delete from email_contents where email_id = $1', [gone]);
      await scene.db.query('update deliveries set domain_id = gen_random_uuid() where email_id = $1', [keyless]);
      await scene.db.query('update deliveries set crashes = 5 where email_id = $1', [poison]);
      clock.advance(10 * MINUTE);
      await start();
      const reasons = [gone, keyless, poison].map(
        async (id) => failure(await scene.readWhenStatus(id, 'failed')).reason,
      );
      expect(await Promise.all(reasons)).toEqual(['content_unavailable', 'domain_removed', 'poison']);
      expect(await scene.queue()).toEqual({});
    });

    it('not yet without content while it is young: a node may show its part of a commit late', async () => {
      const [id = ''] = await scene.acceptTo('ada');
      const [content] = await scene.db.query('select to_json(c) as row from email_contents c where email_id = $1', [
        id,
      ]);
      await scene.db.query('delete from email_contents where email_id = $1', [id]);
      await start();
      const waits = await scene.readWhen(id, (rows) => eventTypes(rows).includes('deferred'), 'the mail to wait');
      expect(lastEvent(waits)?.data).toMatchObject({ reason: 'content_unavailable' });
      await scene.db.query('insert into email_contents select * from jsonb_populate_record(null::email_contents, $1)', [
        JSON.stringify(content?.row),
      ]);
      clock.advance(15_000);
      await scene.readWhenStatus(id, 'sent');
    });

    it('with all others whose life has ended, however many', async () => {
      const to = Array.from({ length: 50 }, (_, index) => `r${index}@x.example`);
      await Promise.all(Array.from({ length: 25 }, () => scene.accept({ to })));
      await scene.db.query(`update deliveries set state = 'held', expires_at = $1`, [clock.now()]);
      const worker = await start();
      const [probe = ''] = await scene.acceptTo('probe');
      await scene.readWhenStatus(probe, 'sent');
      const hasEndedAll = async (): Promise<boolean> => {
        // A run stops early on a slow database, and leaves the rest to the next.
        await worker.get(QueueSweepJob).endOverdue();
        return Object.keys(await scene.queue()).length === 0;
      };
      await waitFor(hasEndedAll, { what: 'all of them to have ended' });
    });

    it('once its life has ended while it waited', async () => {
      const [id = ''] = await scene.acceptTo('ada');
      await scene.db.query(`update deliveries set state = 'waiting', due_at = $1`, [new Date('2100-01-01')]);
      const worker = await start();
      const [probe = ''] = await scene.acceptTo('probe');
      await scene.readWhenStatus(probe, 'sent');
      clock.advance(4 * DAY + 1);
      // The clock's jump has ended the lease too; any claim begins the next one.
      const [other = ''] = await scene.acceptTo('probe');
      await scene.readWhenStatus(other, 'sent');
      await worker.get(QueueSweepJob).endOverdue();
      const rows = await scene.readWhenStatus(id, 'bounced');
      expect(lastEvent(rows)?.data).toMatchObject({ bounceType: 'soft', reason: 'retries exhausted' });
    });
  });
});
