import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '../../../src/common/ids';
import { type Destination, DestinationsService } from '../../../src/delivery/shaping/destinations.service';
import { HeldDestinations } from '../../../src/delivery/shaping/held-destinations.service';
import { DestinationsRepository } from '../../../src/delivery/shaping/destinations.repository';
import { type Route, Router } from '../../../src/delivery/routing/router';
import { QueueMeasures } from '../../../src/delivery/queue/queue-measures.service';
import { GiveBackJob, QueueSweepJob } from '../../../src/delivery/worker/queue.job';
import { ShapingSync } from '../../../src/delivery/worker/slots/shaping-sync.job';
import { WorkerSlots } from '../../../src/delivery/worker/slots/worker-slots';
import { toDetailDto } from '../../../src/modules/emails/dto/email.mapper';
import { EmailsService } from '../../../src/modules/emails/emails.service';
import { SmtpSink } from '../../doubles/smtp-sink';
import type { Core } from '../../setup/core-context';
import { DeliveryScene } from '../../setup/delivery-scene';
import { waitFor } from '../../setup/wait-for';

const KEY = 'mx1.provider.example';
const numbered = (count: number) => Array.from({ length: count }, (_, n) => n);
const nothingElse = () => Promise.resolve();

/** One provider takes the mail of all domains. */
class ProviderRouter extends Router {
  constructor(private readonly port: number) {
    super();
  }

  override resolve(): Promise<Route> {
    const hosts = [{ hostName: KEY, addresses: ['127.0.0.1'], preference: 1 }];
    return Promise.resolve({ kind: 'hosts', hosts, port: this.port, final: true, group: KEY });
  }
}

describe('domains with the same mail exchangers', () => {
  let scene: DeliveryScene;
  let sink: SmtpSink;
  let most: number;
  let watching: AbortController;

  beforeAll(async () => {
    scene = await DeliveryScene.open();
  });
  beforeEach(async () => {
    sink = await SmtpSink.start();
    most = 0;
    watching = new AbortController();
    void watch(watching.signal);
  });
  afterEach(async () => {
    watching.abort();
    await scene.clear();
    await sink.stop();
    await scene.db.query('delete from destination_reports');
    await scene.db.query('delete from destination_rules');
  });
  afterAll(() => scene.close());

  /** The most connections that were ever open. */
  async function watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      most = Math.max(most, sink.openConnections);
      await delay(1);
    }
  }

  const start = (env: Record<string, string> = {}) =>
    scene.startWorker({ hopPort: 1, router: new ProviderRouter(sink.port), env: { DRAIN_SECONDS: '1', ...env } });
  const service = (worker: Core) => worker.get(DestinationsService);
  const send = (count: number, localPart = 'r', domains = count) =>
    Promise.all(numbered(count).map((n) => scene.accept({ to: [`${localPart}@d${n % domains}.example`] })));
  const limit = (maxConnections: number) =>
    scene.db.query(
      `insert into destination_rules (id, key, source, effect, value, cause)
       values ($1, $2, 'operator', 'max_connections', $3, 'a test')`,
      [newId(), KEY, maxConnections],
    );
  const seen = async (worker: Core, isAsWanted: (destination: Destination) => boolean, what: string) =>
    waitFor(
      async () => {
        const [found] = await service(worker).list();
        return found !== undefined && isAsWanted(found) && found;
      },
      { what },
    );

  /** Once both have published and read: a worker that has just started has no session yet. */
  const bothAre = (what: string, isAsWanted: (limit: number) => boolean, workers: readonly Core[]) =>
    waitFor(
      async () => {
        for (const worker of workers) await worker.get(ShapingSync).sync();
        return workers.every((worker) => isAsWanted(worker.get(WorkerSlots).loadOf(KEY).limit));
      },
      { what: `both to be ${what}` },
    );

  it('are all reported while they are held back: none of their mail is counted as waiting for a worker', async () => {
    await scene.db.query(
      `insert into destination_rules (id, key, source, effect, cause) values ($1, $2, 'operator', 'paused', 'a test')`,
      [newId(), KEY],
    );
    const worker = await start();
    await bothAre('paused', (limit) => limit === 0, [worker]);
    await send(25);
    const measure = await waitFor(
      async () => {
        await worker.get(ShapingSync).sync();
        worker.get(GiveBackJob).giveBack();
        const found = await worker.get(QueueMeasures).measure();
        return found.heldBack === 25 && found;
      },
      { what: 'all of it to be known as held back' },
    );
    expect(measure).toMatchObject({ ready: 25, oldestReadySeconds: 0 });
    expect(sink.messages).toHaveLength(0);
  });

  it('share one limit of connections, of one worker', async () => {
    await limit(2);
    await send(40);
    const worker = await start();
    await sink.waitForMessages(40);
    expect(most).toBeLessThanOrEqual(2);
    const shown = await seen(worker, ({ lastHour }) => lastHour.delivered === 40, 'all to be counted');
    expect(shown).toMatchObject({
      key: KEY,
      mxHosts: [KEY],
      state: 'slowed',
      maxConnections: 2,
      cause: 'a test',
      lastResponse: expect.any(String),
      rules: [{ source: 'operator', effect: '2 max connections', cause: 'a test' }],
      lastHour: { delivered: 40, deferred: 0, bounced: 0 },
    });
    expect(shown.domains).toHaveLength(20);
  });

  it('share it among all workers, who keep it within one connection', async () => {
    await limit(4);
    await send(120, '250-late-20', 30);
    await Promise.all([start(), start(), start(), start()]);
    await sink.waitForMessages(120);
    expect(most).toBeLessThanOrEqual(5);
  });

  it('let a worker keep its open connections when another one joins', async () => {
    await limit(4);
    const first = await start();
    // It begins with two, and has more as they end well.
    await send(20);
    await sink.waitForMessages(20);
    await send(4, 'slow-60000');
    await waitFor(() => sink.openConnections === 4, { what: 'the first to use all of the limit' });
    const limitOf = async (worker: Core) => {
      await worker.get(ShapingSync).sync();
      return worker.get(WorkerSlots).loadOf(KEY).limit;
    };
    const sync = jest.spyOn(first.get(ShapingSync), 'sync').mockResolvedValue();
    const second = await start();
    const live = 'select 1 from worker_sessions where lease_until > now()';
    await waitFor(async () => (await scene.db.query(live)).length === 2, { what: 'both to have a session' });
    // The first stands still, for a minute as the database sees it, and has reported nothing: it may use all of it at any time.
    await scene.db.query(`update worker_sessions set started_at = started_at - interval '1 minute'`);
    await scene.db.query('update destination_reports set active = 0');
    expect([await limitOf(second), await limitOf(second)]).toEqual([0, 0]);
    sync.mockRestore();
    await waitFor(async () => (await limitOf(first)) === 2, { what: 'the first to hear of the second' });
    expect(await limitOf(second)).toBe(0);
    // Before, a connection that the first had closed may have been open here for a moment.
    most = sink.openConnections;
    await send(4);
    await second.get(ShapingSync).sync();
    expect(most).toBe(4);
  });

  it('are shared with a worker of an earlier release, which confirms nothing, after some seconds', async () => {
    await limit(4);
    const began = (when: string) =>
      scene.db.query(`update worker_sessions set started_at = now() + interval '${when}'`);
    await scene.db.query(
      `insert into worker_sessions (id, host, process_id, lease_until) values ($1, 'old', 1, now() + interval '1 hour')`,
      [newId()],
    );
    await began('1 hour');
    const worker = await start();
    await bothAre('without a part', (most) => most === 0, [worker]);
    await began('-1 minute');
    await bothAre('at their part', (most) => most === 2, [worker]);
  });

  it('get nothing while an operator pauses them, from any worker, and continue within seconds', async () => {
    const [first, second] = [await start(), await start()];
    await service(first).change(KEY, { paused: true, reason: 'their maintenance' }, nothingElse);
    await bothAre('held back', (limit) => limit === 0, [first, second]);
    await send(4);
    await waitFor(async () => (await scene.queue()).ready === 4, {
      what: 'the mail to wait, or to be given back',
    });
    expect(await service(first).get(KEY)).toMatchObject({ state: 'paused', cause: 'their maintenance' });
    expect((await first.get(HeldDestinations).get()).counts).toEqual({ paused: 1, probing: 0, slowed: 0 });
    expect(sink.messages).toEqual([]);
    await service(second).change(KEY, { paused: false, reason: 'over' }, nothingElse);
    await sink.waitForMessages(4);
  });

  it('say to the sender that an operator pauses them, also after hours and when its time is over', async () => {
    const worker = await start();
    const [known = ''] = await send(1);
    await scene.readWhenStatus(known, 'delivered');
    await seen(worker, ({ domains }) => domains.length === 1, 'the domain to be known');
    await service(worker).change(KEY, { paused: true, reason: 'their maintenance' }, nothingElse);
    await bothAre('held back', (limit) => limit === 0, [worker]);
    const [id = ''] = await send(1);
    await scene.db.query(`update destination_reports set reported_at = now() - interval '2 hours'`);
    await worker.get(DestinationsRepository).removeOver();
    const replies = await scene.db.query('select distinct cause, last_response from destination_reports');
    expect(replies).toEqual([{ cause: null, last_response: null }]);
    const { state, domains, lastHour } = await service(worker).get(KEY);
    expect({ state, domains, lastHour }).toEqual({
      ...{ state: 'paused', domains: ['d0.example'], lastHour: { delivered: 0, deferred: 0, bounced: 0 } },
    });
    await waitFor(async () => (await scene.queue()).ready === 1, { what: 'the mail to wait' });
    const waiting = await waitFor(
      async () => {
        const detail = await scene.core.get(EmailsService).detail(scene.tenant.as('live'), id);
        const [recipient] = toDetailDto(detail).recipients;
        return recipient?.waiting?.reason === 'turn' ? undefined : recipient?.waiting;
      },
      { what: 'the process to hear of the pause: it asks every two seconds at most' },
    );
    expect(waiting).toMatchObject({
      reason: 'destination_paused',
      detail: 'The operator of this service has paused mail to the destination: their maintenance',
    });
    await scene.db.query(`update deliveries set expires_at = now() - interval '1 second'`);
    await worker.get(QueueSweepJob).endOverdue();
    const { events } = await scene.readWhenStatus(id, 'failed');
    expect(events.at(-1)?.data).toMatchObject({
      reason: 'expired',
      explanation: expect.stringMatching(
        /: no attempt could begin; the operator of this service had paused mail to d0\.example since 20\S+Z: their maintenance$/,
      ),
    });
  });

  it('are paused by all workers when one has met that they refuse us, and resumed by an operator', async () => {
    const [first, second] = [await start(), await start()];
    // As an attempt does it that is refused for its sender's reputation.
    first.get(WorkerSlots).learnGroup('d0.example', { group: KEY, hosts: [] });
    const ticket = first.get(WorkerSlots).take({ organizationId: 'a', destination: 'd0.example' }, [KEY]);
    const route = {
      kind: 'hosts',
      hosts: [{ hostName: KEY, addresses: ['127.0.0.1'], preference: 1 }],
      port: 1,
      final: true,
    } as const;
    first.get(ShapingSync).begin(KEY, 'd0.example', route);
    first.get(WorkerSlots).give(ticket, 'suspended', '554 5.7.1 on a block list');
    await bothAre('held back', (limit) => limit === 0, [first, second]);
    expect(await service(second).get(KEY)).toMatchObject({
      state: 'paused',
      cause: '554 5.7.1 on a block list',
      until: expect.any(Date),
    });
    await service(second).change(KEY, { paused: false, reason: 'delisted' }, nothingElse);
    await bothAre('open again', (limit) => limit > 0, [first, second]);
  });

  it.each([
    [0, 1],
    [3, 3],
  ])('are limited by a reply, for all workers and for a time: others have %i connections', async (others, value) => {
    await scene.db.query(
      `with other as (
         insert into worker_sessions (id, host, process_id, lease_until) values ($1, 'other', 1, now() + interval '1 hour'))
       insert into destination_reports (key, session_id, active, concurrency, pauses, mx_hosts, domains, delivered, deferred, bounced)
       values ($2, $1, $3, 2, 0, '{}', '{}', 0, 0, 0)`,
      [newId(), KEY, others],
    );
    const worker = await start();
    await scene.accept({ to: ['rcpt-451-connections@d0.example'] });
    const rule = await waitFor(
      async () => (await worker.get(DestinationsRepository).listRules()).find(({ source }) => source === 'reply'),
      { what: 'a rule to be learned' },
    );
    expect(rule).toMatchObject({ key: KEY, effect: 'max_connections', value, until: expect.any(Date) });
    expect(rule.cause).toContain('Too many concurrent');
    expect(await service(worker).get(KEY)).toMatchObject({ state: 'slowed', maxConnections: value });
    await service(worker).removeRule(KEY, rule.id, nothingElse);
    expect(await worker.get(DestinationsRepository).listRules()).toEqual([]);
    await expect(service(worker).removeRule(KEY, rule.id, nothingElse)).rejects.toThrow('Rule not found');
  });
});
