import { UnavailableError } from '../../../src/common/errors/app-error';
import type { ClaimedDelivery } from '../../../src/delivery/ports/delivery';
import { MessageSource } from '../../../src/delivery/ports/sources';
import { DeliveryQueueRepository } from '../../../src/delivery/queue/delivery-queue.repository';
import { Claimer } from '../../../src/delivery/worker/claims/claimer';
import { DeadClaims } from '../../../src/delivery/worker/crash-recovery';
import { DeliveryPipeline } from '../../../src/delivery/worker/delivery-pipeline';
import { PromoteDueJob } from '../../../src/delivery/worker/queue.job';
import { Settler } from '../../../src/delivery/results/settler';
import { WorkerSession } from '../../../src/delivery/worker/session/worker-session';
import { ScriptedSmtpServer } from '../../doubles/scripted-smtp-server';
import { SmtpSink } from '../../doubles/smtp-sink';
import type { StoredEmail } from '../../factories/stored-email';
import { outcomeOfClaim } from '../../factories/outcomes';
import type { Core } from '../../setup/core-context';
import { DeliveryScene } from '../../setup/delivery-scene';
import { waitFor } from '../../setup/wait-for';

describe('a mail that kills its workers', () => {
  let scene: DeliveryScene;
  let sink: SmtpSink;

  beforeAll(async () => {
    scene = await DeliveryScene.open();
    sink = await SmtpSink.start();
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await scene.clear();
    sink.clear();
  });
  afterAll(async () => {
    await scene.close();
    await sink.stop();
  });

  const startParts = () => scene.startWorker({ hopPort: sink.port, isRunning: false });
  const crashes = async () =>
    Object.fromEntries(
      (await scene.db.query('select recipient, state, crashes from deliveries')).map((row) => [
        String(row.recipient).split('@')[0],
        `${row.crashes} ${row.state}`,
      ]),
    );

  /** What a worker of parts claims, and how it ends. */
  class Parts {
    constructor(
      private readonly core: Core,
      private readonly sessionId: string,
    ) {}

    static async begin(): Promise<Parts> {
      const core = await startParts();
      await core.get(WorkerSession).begin();
      return new Parts(core, core.get(WorkerSession).id ?? '');
    }

    claim = (limit = 1_000) => this.core.get(Claimer).claim(this.sessionId, { limit });
    hasSuspect = () => this.core.get(DeliveryQueueRepository).hasSuspect(this.sessionId, []);
    claimSuspects = () => this.core.get(DeliveryQueueRepository).claimSuspects(this.sessionId, []);
    release = (claims: readonly ClaimedDelivery[]) => this.core.get(DeliveryQueueRepository).release(claims);
    end = () => this.core.get(WorkerSession).end();

    async die(): Promise<void> {
      await scene.db.query('update worker_sessions set lease_until = now() where id = $1', [this.sessionId]);
      await this.core.get(DeadClaims).free(500);
    }

    defer(claim: ClaimedDelivery): Promise<void> {
      const outcome = { kind: 'deferred', nextAttemptAt: new Date(), reason: 'later' } as const;
      return this.core.get(Settler).settle({ claim, outcomes: [outcomeOfClaim(claim, outcome)] });
    }
  }

  async function dieWithAll(times: number): Promise<void> {
    for (let time = 0; time < times; time += 1) {
      const worker = await Parts.begin();
      await worker.claim();
      await worker.die();
    }
  }

  it('ends alone: mail that was in hand with it arrives, once', async () => {
    const innocent = Array.from({ length: 49 }, (_, n) => `r${n}`);
    const worker = await startParts();
    const reaper = (await startParts()).get(DeadClaims);
    const [poison = '', ...others] = await scene.acceptTo('poison', ...innocent);
    const source = worker.get(MessageSource);
    const load = source.load.bind(source);
    const company: number[] = [];
    jest.spyOn(source, 'load').mockImplementation(async (emails, room) => {
      if (!emails.some(({ emailId }) => emailId === poison)) return load(emails, room);
      // As if the process had died, and another one had been started.
      company.push(emails.length);
      await scene.db.query('update worker_sessions set lease_until = now()');
      worker.get(WorkerSession).abandon();
      await reaper.free(500);
      throw new UnavailableError();
    });
    await worker.start();
    const { events, deliveries } = await scene.readWhenStatus(poison, 'failed');
    expect(events.at(-1)).toMatchObject({
      event_type: 'failed',
      data: { reason: 'poison', detail: expect.stringContaining('5 workers died') },
    });
    expect(deliveries).toEqual([]);
    expect(company).toEqual([50, 50, 4, 1, 1]);
    for (const id of others) await scene.readWhenStatus(id, 'sent');
    const recipients = sink.messages.flatMap((message) => message.recipients);
    expect(recipients.sort()).toEqual(innocent.map((name) => `${name}@x.example`).sort());
    expect(await scene.queue()).toEqual({});
  });

  it('is suspected with those in hand beside it from the second crash on, and no claim of many takes a suspect', async () => {
    await scene.acceptTo('poison', 'ada');
    await dieWithAll(1);
    expect(await crashes()).toEqual({ poison: '1 ready', ada: '1 ready' });
    await dieWithAll(1);
    expect(await crashes()).toEqual({ poison: '2 waiting', ada: '2 waiting' });
    const worker = await Parts.begin();
    await (await startParts()).get(PromoteDueJob).promote();
    expect(await worker.claim()).toEqual([]);
    const suspects = await worker.claimSuspects();
    expect(suspects.map(({ recipient }) => recipient).sort()).toEqual(['ada@x.example', 'poison@x.example']);
    expect(await worker.claimSuspects()).toEqual([]);
  });

  it('is tried together with a few others, of each destination the same number, and alone when a worker died of that', async () => {
    const names = Array.from({ length: 20 }, (_, n) => `r${n}`);
    await scene.acceptTo(...names);
    await dieWithAll(2);
    await scene.db.query(
      "update deliveries set destination = 'd' || (row_number - 1) / 5 || '.example' from " +
        '(select email_id as id, row_number() over (order by email_id) from deliveries) r where email_id = r.id',
    );
    const worker = await Parts.begin();
    const together = await worker.claimSuspects();
    const destinations = together.map(({ destination }) => destination).sort();
    expect(destinations).toEqual(['d0', 'd1', 'd2', 'd3'].flatMap((name) => Array(4).fill(`${name}.example`)));
    await worker.die();
    const next = await Parts.begin();
    const rest = await next.claimSuspects();
    expect(rest.map(({ crashes }) => crashes)).toEqual([2, 2, 2, 2]);
    const [alone, ...others] = await next.claimSuspects();
    expect([alone?.crashes, others]).toEqual([3, []]);
  });

  it('is tried by one worker at a time, while the others go on; one that stands still or dies with it keeps no other waiting', async () => {
    await scene.acceptTo('ada', 'bob', 'eve');
    await dieWithAll(2);
    await scene.db.query('update deliveries set crashes = 3');
    const [first, second] = [await Parts.begin(), await Parts.begin()];
    expect(await first.claimSuspects()).toHaveLength(1);
    expect([await second.hasSuspect(), await second.claimSuspects()]).toEqual([false, []]);
    expect([await first.hasSuspect(), await first.claimSuspects()]).toEqual([true, [expect.anything()]]);
    await scene.db.query("update deliveries set claimed_at = claimed_at - interval '1 second' where state = 'claimed'");
    expect([await second.hasSuspect(), await second.claimSuspects()]).toEqual([true, [expect.anything()]]);
  });

  it('is charged alone when it is tried, whatever else the worker had', async () => {
    await scene.acceptTo('poison');
    await dieWithAll(2);
    await scene.acceptTo('ada', 'bob');
    const worker = await Parts.begin();
    await worker.claim();
    await worker.claimSuspects();
    await worker.die();
    expect(await crashes()).toEqual({ poison: '3 waiting', ada: '0 ready', bob: '0 ready' });
  });

  it('takes the blame for the suspect that was tried before it and still waits for its server', async () => {
    await scene.acceptTo('slow');
    await dieWithAll(2);
    const worker = await Parts.begin();
    await worker.claimSuspects();
    await scene.acceptTo('poison');
    await dieWithAll(2);
    await worker.claimSuspects();
    await worker.die();
    expect(await crashes()).toEqual({ slow: '2 waiting', poison: '3 waiting' });
  });

  it('is not to blame for what happens while its server is silent: its attempt ends, and clears it', async () => {
    const tarpit = await ScriptedSmtpServer.start(async (peer) => {
      await peer.greet();
      await peer.expect('MAIL');
      await peer.untilGone();
    });
    const [id = ''] = await scene.acceptTo('slow');
    await dieWithAll(2);
    const worker = await scene.startWorker({ hopPort: tarpit.port, isRunning: false });
    const pipeline = worker.get(DeliveryPipeline);
    const isOverWithin = pipeline.isOverWithin.bind(pipeline);
    jest.spyOn(pipeline, 'isOverWithin').mockImplementation(async (claim, limitMs) => {
      if (limitMs < 1_000) return isOverWithin(claim, limitMs);
      // As if the time of a trial had passed.
      await waitFor(() => tarpit.received.includes('MAIL'), { what: 'the trial' });
      return false;
    });
    await worker.start();
    const isDeferred = ({ events }: StoredEmail) => events.some(({ event_type }) => event_type === 'deferred');
    await scene.readWhen(id, isDeferred, 'the trial to end');
    expect(await crashes()).toEqual({ slow: '0 waiting' });
    await scene.clear();
    await tarpit.stop();
  });

  it('does not wait for the silent servers of those that are tried before it', async () => {
    const tarpit = await ScriptedSmtpServer.start(async (peer) => {
      await peer.greet();
      await peer.untilGone();
    });
    await scene.acceptTo('ada', 'bob');
    await dieWithAll(2);
    await scene.db.query('update deliveries set crashes = 3');
    const worker = await scene.startWorker({ hopPort: tarpit.port, isRunning: false });
    const pipeline = worker.get(DeliveryPipeline);
    const take = jest.spyOn(pipeline, 'take');
    const cutShort = jest.spyOn(pipeline, 'cutShort');
    const isOverWithin = pipeline.isOverWithin.bind(pipeline);
    jest.spyOn(pipeline, 'isOverWithin').mockImplementation(async (claim, limitMs) => {
      if (limitMs < 1_000) return isOverWithin(claim, limitMs);
      // As if the time of a trial had passed, once both attempts are silent: one that had not begun would be given back, and between
      // the reply to EHLO and MAIL none is silent.
      await waitFor(() => tarpit.received.split('MAIL').length > 2, { what: 'both trials' });
      return false;
    });
    await worker.start();
    const isCleared = async () => Object.values(await crashes()).every((state) => state === '0 waiting');
    await waitFor(isCleared, { what: 'the trials to end' });
    const cutFirst = cutShort.mock.invocationCallOrder[0] ?? 0;
    const triedBefore = take.mock.calls.filter((_call, at) => (take.mock.invocationCallOrder[at] ?? 0) < cutFirst);
    expect(new Set(triedBefore.flatMap(([claims]) => claims.map(({ emailId }) => emailId))).size).toBe(2);
    await scene.clear();
    await tarpit.stop();
  });

  it('delays the next one until its reply, not until the commit of its result', async () => {
    const [ada, bob] = await scene.acceptTo('ada', 'bob');
    await dieWithAll(2);
    await scene.db.query('update deliveries set crashes = 3');
    const worker = await startParts();
    const cutShort = jest.spyOn(worker.get(DeliveryPipeline), 'cutShort');
    const settler = worker.get(Settler);
    const settle = settler.settle.bind(settler);
    let commit: () => void = () => undefined;
    const mayCommit = new Promise<void>((resolve) => (commit = resolve));
    jest.spyOn(settler, 'settle').mockImplementation(async (settlement) => {
      await mayCommit;
      return settle(settlement);
    });
    await worker.start();
    await sink.waitForMessages(2);
    expect(await crashes()).toEqual({ ada: '3 claimed', bob: '3 claimed' });
    expect(cutShort).not.toHaveBeenCalled();
    commit();
    for (const id of [ada, bob]) await scene.readWhenStatus(id ?? '', 'sent');
  });

  it('is no suspect when its attempt has come to an end, and still one when it was given back', async () => {
    await scene.acceptTo('ada', 'bob');
    await dieWithAll(2);
    const worker = await Parts.begin();
    await worker.release(await worker.claimSuspects());
    expect(await crashes()).toEqual({ ada: '2 waiting', bob: '2 waiting' });
    const [tried] = await worker.claimSuspects();
    if (tried) await worker.defer(tried);
    const name = tried?.recipient.split('@')[0] ?? '';
    expect(await crashes()).toMatchObject({ [name]: expect.stringMatching(/^0 /) });
  });

  it('charges no tenant when a worker ends in good order', async () => {
    await scene.acceptTo('ada');
    const worker = await Parts.begin();
    await worker.claim();
    await worker.end();
    expect(await scene.db.query('select state, attempt, crashes from deliveries')).toEqual([
      { state: 'ready', attempt: 0, crashes: 0 },
    ]);
  });
});
