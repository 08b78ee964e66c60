import { DAY, HOUR } from '../../../src/common/clock';
import type { PeriodicJobs } from '../../../src/common/jobs/periodic-jobs';
import { newId } from '../../../src/common/ids';
import { canonicalJson } from '../../../src/modules/emails/accept/request/idempotency';
import { DeliveryQueueRepository } from '../../../src/delivery/queue/delivery-queue.repository';
import { AcceptRepository } from '../../../src/modules/emails/accept/commit/accept.repository';
import { AcceptRetentionJob } from '../../../src/modules/emails/retention/retention.job';
import { SendRawService } from '../../../src/modules/emails/accept/send-raw.service';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { FakeClock } from '../../doubles/fake-clock';
import { sendBody } from '../../factories/send-requests';
import { countEmails } from '../../factories/stored-email';
import { addSuppression, createTenant, type Tenant } from '../../factories/tenants';
import { type Core, startCore, testConfig } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';
import { waitFor } from '../../setup/wait-for';

describe('idempotency keys', () => {
  let db: OpenTestDatabase;
  let clock: FakeClock;
  /** Two processes on one database. */
  let core: Core;
  let second: Core;
  let sender: SendEmailsService;
  let tenant: Tenant;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 3 });
    clock = new FakeClock();
    core = await startCore(db.url, { clock });
    second = await startCore(db.url, { clock });
    sender = core.get(SendEmailsService);
  });
  beforeEach(async () => {
    tenant = await createTenant(db);
  });
  afterAll(async () => {
    await core.close();
    await second.close();
    await db.drop();
  });

  const send = (key: string | undefined, fields: Record<string, unknown> = {}, submitter = tenant.as('live')) =>
    sender.sendOne(sendBody(fields), key, submitter);
  const sendIn = (process: Core, key: string) =>
    process.get(SendEmailsService).sendOne(sendBody(), key, tenant.as('live'));
  const sendBatch = (bodies: readonly unknown[], key?: string, submitter = tenant.as('live')) =>
    sender.sendBatch(bodies, key, submitter);
  const sendRaw = (key: string, raw: string) =>
    core
      .get(SendRawService)
      .send({ raw: Buffer.from(raw).toString('base64'), to: ['a@x.example'] }, key, tenant.as('live'));
  const emails = () => countEmails(db, tenant.organizationId);
  const times = <T>(count: number, run: (n: number) => Promise<T>) =>
    Promise.all(Array.from({ length: count }, (_, n) => run(n)));

  describe('make one email of many equal requests', () => {
    it('20 at the same time', async () => {
      const answers = await times(20, () => send('k'));
      expect(new Set(answers.map(({ accepted }) => canonicalJson(accepted))).size).toBe(1);
      expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
      expect(await emails()).toBe(1);
    });

    it('5 at the same time for each of 1,000 keys', async () => {
      const answers = await times(5_000, (n) => send(`key ${n % 1_000}`));
      expect(new Set(answers.map(({ accepted }) => accepted.id)).size).toBe(1_000);
      expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1_000);
      expect(await emails()).toBe(1_000);
    });

    it('from two processes', async () => {
      const answers = await times(400, async (n) => {
        const { accepted } = await sendIn(n % 2 === 0 ? core : second, `key ${n % 50}`);
        return { n, id: accepted.id };
      });
      for (let key = 0; key < 50; key += 1) {
        expect(new Set(answers.filter(({ n }) => n % 50 === key).map(({ id }) => id)).size).toBe(1);
      }
      expect(await emails()).toBe(50);
    });

    it('one after the other', async () => {
      const first = await send('k', { tags: ['a'], text: 'b' });
      const again = await send('k', { text: 'b', tags: ['a'] });
      expect(again).toEqual({ accepted: first.accepted, replayed: true });
      expect(await sender.sendOne(sendBody({ idempotencyKey: 'k2' }), undefined, tenant.as('live'))).toMatchObject({
        replayed: false,
      });
      expect(await sender.sendOne(sendBody({ idempotencyKey: 'k2' }), 'k2', tenant.as('live'))).toMatchObject({
        replayed: true,
      });
      expect(await emails()).toBe(2);
    });

    it('repeated after the times in them', async () => {
      const at = (ms: number) => new Date(clock.now().getTime() + ms).toISOString();
      const fields = { scheduledAt: at(HOUR), expiresAt: at(2 * HOUR) };
      const raw = `X-Waybill-Schedule: ${at(HOUR)}\r\nFrom: a@${tenant.domain}\r\n\r\nhi`;
      const [one, batch, message] = [
        () => send('k', fields),
        () => sendBatch([sendBody({ ...fields, idempotencyKey: 'item' })]),
        () => sendRaw('raw', raw),
      ];
      const first = [await one(), await batch(), await message()] as const;
      clock.advance(3 * HOUR);
      expect(await one()).toEqual({ ...first[0], replayed: true });
      expect((await batch()).results).toEqual(first[1].results);
      expect(await message()).toEqual({ ...first[2], replayed: true });
      const late = { code: 'invalid_request', details: { validation: { scheduledAt: [expect.any(String)] } } };
      for (const key of [undefined, 'other']) await expect(send(key, fields)).rejects.toMatchObject(late);
      await expect(sendRaw('other', raw)).rejects.toMatchObject(late);
      await expect(send('k', { ...fields, text: 'other' })).rejects.toMatchObject({ code: 'idempotency_key_reused' });
      expect(await emails()).toBe(3);
    });
  });

  describe('belong to', () => {
    it('a body', async () => {
      const { accepted } = await send('k');
      await expect(send('k', { subject: 'Other' })).rejects.toMatchObject({ code: 'idempotency_key_reused' });
      expect((await send('k')).accepted).toEqual(accepted);
      expect(await emails()).toBe(1);
    });

    it('an organization, a mode and a path', async () => {
      const other = await createTenant(db);
      const ids = [
        (await send('k')).accepted.id,
        (await send('k', {}, tenant.as('test'))).accepted.id,
        (await send('k', {}, other.as('live'))).accepted.id,
        (await send('k', {}, tenant.as('live', tenant.domainId))).accepted.id,
        (await sendBatch([sendBody()], 'k')).results,
        (await sendBatch([sendBody({ idempotencyKey: 'k' })])).results,
      ].map((answer) => (typeof answer === 'string' ? answer : (answer[0] as { id: string }).id));
      expect(new Set(ids).size).toBe(6);
    });
  });

  describe('remember', () => {
    it('a recipient on the suppression list', async () => {
      await addSuppression(db, tenant, { email: 'ada@example.com', reason: 'manual' });
      const refusal = { code: 'recipient_suppressed', details: { suppressedRecipients: [{ reason: 'manual' }] } };
      await expect(send('k')).rejects.toMatchObject(refusal);
      await db.query('delete from suppressions where organization_id = $1', [tenant.organizationId]);
      await expect(send('k')).rejects.toMatchObject(refusal);
      await expect(send('other')).resolves.toMatchObject({ replayed: false });
    });

    it('a domain that is not verified', async () => {
      tenant = await createTenant(db, { status: 'pending' });
      await expect(send('k')).rejects.toMatchObject({ code: 'domain_not_verified' });
      await db.query(`update domains set verification_status = 'verified' where id = $1`, [tenant.domainId]);
      await expect(send('k')).rejects.toMatchObject({ code: 'domain_not_verified' });
      await expect(send('other')).resolves.toMatchObject({ replayed: false });
    });
  });

  describe('forget', () => {
    it('a request that was not valid', async () => {
      await expect(send('k', { subject: '' })).rejects.toMatchObject({ code: 'invalid_request' });
      await expect(send('k')).resolves.toMatchObject({ replayed: false });
    });

    it('a limit that was reached', async () => {
      const to = Array.from({ length: 40 }, (_, n) => `a${n}@x.example`);
      for (const key of ['a', 'b']) await send(key, { to }, tenant.as('test'));
      await expect(send('k', { to }, tenant.as('test'))).rejects.toMatchObject({ code: 'sending_limit_exceeded' });
      clock.advance(DAY);
      await expect(send('k', { to }, tenant.as('test'))).resolves.toMatchObject({ replayed: false });
    });

    it('a domain that the API key must not use, whichever API key has used the idempotency key before', async () => {
      const bound = tenant.as('live', newId());
      await send('of another');
      await sendBatch([sendBody(), sendBody()], 'batch');
      await expect(send('of another', {}, bound)).rejects.toMatchObject({ code: 'domain_not_allowed' });
      const { results } = await sendBatch([sendBody(), sendBody()], 'batch', bound);
      expect(results.map((result) => 'code' in result && result.code)).toEqual(Array(2).fill('domain_not_allowed'));
      await expect(send('k', {}, tenant.as('live', newId()))).rejects.toMatchObject({ code: 'domain_not_allowed' });
      await expect(send('k')).resolves.toMatchObject({ replayed: false });
    });

    it('everything after 24 hours, and not before', async () => {
      const first = await send('k');
      clock.advance(DAY - 1);
      expect(await send('k')).toEqual({ ...first, replayed: true });
      clock.advance(1);
      const next = await send('k', { subject: 'Other' });
      expect(next.replayed).toBe(false);
      expect(next.accepted.id).not.toBe(first.accepted.id);
      clock.advance(HOUR);
      expect(await send('k', { subject: 'Other' })).toEqual({ ...next, replayed: true });
    });
  });

  it('are refused when header and body disagree, or when they are none', async () => {
    await expect(send('a', { idempotencyKey: 'b' })).rejects.toMatchObject({ code: 'invalid_request' });
    for (const key of ['', 'ä', 'x'.repeat(256)]) {
      await expect(send(key)).rejects.toMatchObject({ code: 'invalid_request' });
      await expect(send(undefined, { idempotencyKey: key })).rejects.toMatchObject({ code: 'invalid_request' });
    }
    expect(await emails()).toBe(0);
  });

  describe('of batches', () => {
    it('cover the whole request', async () => {
      const bodies = [sendBody(), sendBody({ subject: '' }), sendBody()];
      const answers = await times(10, () => sendBatch(bodies, 'k'));
      expect(new Set(answers.map(({ results }) => canonicalJson(results))).size).toBe(1);
      expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
      expect(await emails()).toBe(2);
      await expect(sendBatch(bodies.slice(1), 'k')).rejects.toMatchObject({ code: 'idempotency_key_reused' });
    });

    it('cover the whole request of one item that is refused', async () => {
      const first = await sendBatch([sendBody({ subject: '' })], 'k');
      expect(await sendBatch([sendBody({ subject: '' })], 'k')).toEqual({ ...first, replayed: true });
      await expect(sendBatch([sendBody()], 'k')).rejects.toMatchObject({ code: 'idempotency_key_reused' });
      expect(await emails()).toBe(0);
    });

    it('cover a single item', async () => {
      const body = sendBody({ idempotencyKey: 'k' });
      const [first] = (await sendBatch([body, sendBody()])).results;
      const answers = await times(10, () => sendBatch([sendBody(), body]));
      expect(new Set(answers.map(({ results }) => canonicalJson(results[1])))).toEqual(new Set([canonicalJson(first)]));
      expect(await emails()).toBe(12);
    });

    it('count once when one batch names the same item twice', async () => {
      const body = sendBody({ idempotencyKey: 'k' });
      const { results } = await sendBatch([body, sendBody({ idempotencyKey: 'k', subject: 'Other' }), body]);
      expect(results[2]).toEqual(results[0]);
      expect(results).toMatchObject([{ kind: 'accepted' }, { code: 'idempotency_key_reused' }, { kind: 'accepted' }]);
      expect(await emails()).toBe(1);
    });

    it('keep the reasons of refused items, whatever the names in them', async () => {
      const names = ['x', 'xx'].map((start) => `${start}${'😀'.repeat(50)}`);
      const wrong = names.flatMap((name) => [{ [name]: 1 }, { tracking: { [name]: 1 } }, { headers: { [name]: '1' } }]);
      const bodies = [sendBody(), ...wrong.map((fields) => sendBody(fields))];
      const { results } = await sendBatch(bodies, 'k');
      expect(results[0]).toMatchObject({ kind: 'accepted' });
      expect((await sendBatch(bodies, 'k')).results).toEqual(results);
    });

    it('let an item be mended that was refused', async () => {
      const items = await sendBatch([sendBody({ idempotencyKey: 'k', subject: '' })]);
      expect(items.results).toMatchObject([{ code: 'invalid_request' }]);
      expect((await sendBatch([sendBody({ idempotencyKey: 'k' })])).results).toMatchObject([{ kind: 'accepted' }]);
    });

    it('never wait for each other for ever', async () => {
      const named = (...keys: string[]) => keys.map((idempotencyKey) => sendBody({ idempotencyKey }));
      await times(20, (n) => sendBatch(n % 2 === 0 ? named('a', 'b', 'c') : named('c', 'b', 'a')));
      expect(await emails()).toBe(3);
    });
  });

  describe('while the first request runs', () => {
    /** Another process that works on the key `k` until it is stopped. */
    async function occupy(path: string): Promise<() => Promise<void>> {
      const runner = db.dataSource.createQueryRunner();
      await runner.startTransaction();
      const name = [tenant.organizationId, 'live', path, 'k'].join(' ');
      await runner.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [name]);
      return async () => {
        await runner.rollbackTransaction();
        await runner.release();
      };
    }

    it('wait for it', async () => {
      const leave = await occupy('/v1/emails');
      let answered = false;
      const answer = send('k').finally(() => (answered = true));
      // An email without a key is not held up.
      await send(undefined);
      expect(answered).toBe(false);
      await leave();
      expect(await answer).toMatchObject({ replayed: false });
    });

    it('give up after a while, and say so', async () => {
      const leave = await occupy('/v1/emails');
      await expect(send('k')).rejects.toMatchObject({ code: 'idempotency_in_progress', retryAfterSeconds: 1 });
      await leave();
      expect(await emails()).toBe(0);
    });

    it('hold up no other item of a batch', async () => {
      const leave = await occupy('/v1/emails/batch#item');
      const { results } = await sendBatch([sendBody({ idempotencyKey: 'k' }), sendBody()]);
      expect(results).toMatchObject([{ code: 'idempotency_in_progress' }, { kind: 'accepted' }]);
      await leave();
    });
  });

  it('are cleaned up when their time is over, and not before', async () => {
    const retention = new AcceptRetentionJob(
      new AcceptRepository(db.database, core.get(DeliveryQueueRepository), testConfig()),
      { start: () => undefined } as unknown as PeriodicJobs,
      clock,
    );
    const keys = async () =>
      (await db.query('select key from idempotency_keys where organization_id = $1', [tenant.organizationId])).map(
        ({ key }) => key as string,
      );
    await send('old');
    clock.advance(1);
    await send('young');
    clock.advance(DAY - 1);
    await Promise.all([retention.expireKeys(), retention.expireKeys(), send('old')]);
    expect(await keys()).toEqual(expect.arrayContaining(['young', 'old']));
    expect((await send('old')).replayed).toBe(true);
    expect(await emails()).toBe(3);
    clock.advance(2);
    await retention.expireKeys();
    expect(await keys()).toEqual(['old']);
  });

  it('leave nothing behind when the first request dies before its commit', async () => {
    await db.query(`
      create function die() returns trigger language plpgsql security definer as $$
        begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
      create constraint trigger die after insert on idempotency_keys deferrable initially deferred
        for each row execute function die()`);
    const attempts = await Promise.allSettled(Array.from({ length: 5 }, () => send('k')));
    await db.query('drop trigger die on idempotency_keys');
    expect(attempts.every((attempt) => attempt.status === 'rejected')).toBe(true);
    expect(await emails()).toBe(0);
    // Connections that died are not noticed all at once.
    const retry = await waitFor(() => send('k').catch(() => undefined), { what: 'the retry to be accepted' });
    expect(retry.replayed).toBe(false);
    expect((await send('k')).replayed).toBe(true);
    expect(await emails()).toBe(1);
  });
});
