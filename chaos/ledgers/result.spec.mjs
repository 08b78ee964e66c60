import { ClientLedger, SinkLedger, WebhookLedger } from './ledgers.mjs';
import { ReleaseLog } from './release-log.mjs';
import { FaultLog } from './fault-log.mjs';
import { evaluate } from './result.mjs';

const ADDRESS = 'r1@ok-0.chaos.test';
const PLAN = { seed: 1, fingerprint: 'f', leaseSeconds: 30 };
const LIFE = { name: 'worker-1', client: 'worker-1-1' };
const OTHER = { name: 'worker-2', client: 'worker-2-1' };
let scene;
let service;
let exitCodes;

/** One email that was accepted, taken and delivered. */
beforeEach(() => {
  const sinkLedger = new SinkLedger();
  const log = new FaultLog(sinkLedger, () => true);
  scene = { clientLedger: new ClientLedger(), sinkLedger, webhookLedger: new WebhookLedger(), log };
  accept('ok');
  deliver(LIFE);
  scene.webhookLedger.received(0, 'event');
  service = {
    recipients: new Map([[ADDRESS, 'delivered']]),
    statuses: new Map([['id', 'delivered']]),
    open: [],
    events: [{ tenant: 0, id: 'event', type: 'delivered' }],
    wrongEvents: [],
    statistics: { drift: 0, compared: 3 },
    statementErrors: [],
  };
  exitCodes = { 'api-1': 0 };
});

const accept = (kind) => scene.clientLedger.accepted({ n: 1, recipients: [{ address: ADDRESS, kind }] }, 0, 'id');
const receive = ({ client }, messageId = 'm') =>
  scene.sinkLedger.received({ recipients: [ADDRESS], messageId, client, dotAt: performance.now() });
const deliver = (life, messageId) => scene.sinkLedger.answered(receive(life, messageId));
const result = () => evaluate({ plan: PLAN, scene, service, exitCodes });
const failures = () => Object.entries(result().checks).flatMap(([name, { count }]) => (count > 0 ? [name] : []));
const says = (status) => {
  service.recipients.set(ADDRESS, status);
  service.statuses.set('id', status);
};

describe('a result', () => {
  it('passes when all ledgers agree', () => {
    expect(failures()).toEqual([]);
    expect(result()).toMatchObject({ passed: true, accepted: 1, duplicates: { total: 0 } });
  });

  it('finds mail that is delivered by the service and by no other sender', () => {
    scene.sinkLedger.copies.clear();
    expect(failures()).toEqual(['lost', 'wrong']);
    expect(result().passed).toBe(false);
  });

  it('does not take a message without a reply for a delivered one', () => {
    scene.sinkLedger.copies.clear();
    receive(LIFE);
    expect(failures()).toEqual(['lost', 'wrong']);
  });

  it('finds mail that was accepted and is not stored', () => {
    service.recipients.clear();
    expect(failures()).toEqual(['lost']);
  });

  it('finds mail that has not ended', () => {
    says('sending');
    expect(failures()).toEqual(['stuck', 'wrong']);
    says('delivered');
    service.open = [{ recipient: ADDRESS }];
    expect(failures()).toEqual(['stuck']);
  });

  it.each(['bounced', 'failed'])('finds mail that was taken, and is %s in the service', (status) => {
    says(status);
    expect(failures()).toEqual(['wrong']);
  });

  it('finds mail that should have been refused', () => {
    scene.clientLedger.acceptances.clear();
    accept('reject');
    expect(failures()).toEqual(['wrong']);
  });

  it('wants poison to end as failed', () => {
    scene.clientLedger.acceptances.clear();
    scene.sinkLedger.copies.clear();
    accept('poison');
    says('bounced');
    expect(failures()).toEqual(['wrong']);
    says('failed');
    expect(failures()).toEqual([]);
  });

  it('finds mail that was never sent', () => {
    scene.clientLedger.acceptances.clear();
    expect(failures()).toEqual(['phantoms']);
  });

  it('finds refusals, missing webhooks, drifting counters, odd events, failed statements and processes that did not stop well', () => {
    scene.clientLedger.refused({ n: 2 }, 0, 'no');
    service.events.push({ tenant: 1, id: 'event', type: 'delivered' });
    service.statistics.drift = 1;
    service.wrongEvents = [{ id: 'id' }];
    service.statementErrors = ['ERROR:  more than one row returned by a subquery'];
    exitCodes['api-1'] = 1;
    const found = ['refused', 'wrongEvents', 'webhooksMissing', 'statisticsDrift', 'statementErrors', 'badExits'];
    expect(failures()).toEqual(found);
  });
});

describe('duplicates', () => {
  it('are not allowed without a reason', () => {
    deliver(OTHER);
    expect(failures()).toEqual(['unexplainedDuplicates']);
  });

  it('are explained by the death of the worker that had sent the first copy, and by no other', () => {
    scene.log.begin('kill', OTHER);
    deliver(OTHER);
    expect(failures()).toEqual(['unexplainedDuplicates']);
    scene.log.begin('kill', LIFE);
    expect(failures()).toEqual([]);
    const [, { client, duplicates }] = result().duplicates.byDisturbance;
    expect([client, duplicates > 0]).toEqual([LIFE.client, true]);
  });

  it('are not explained by a death long after the reply', () => {
    scene.log.begin('kill', LIFE, performance.now() + 60_000);
    deliver(OTHER);
    expect(failures()).toEqual(['unexplainedDuplicates']);
  });

  it('are not explained by a pause that was over before the final dot', () => {
    scene.log.begin('stop', LIFE, performance.now() - 60_000).until = performance.now() - 30_000;
    deliver(OTHER);
    expect(failures()).toEqual(['unexplainedDuplicates']);
  });

  // Seed 13: replies were read in the moment in which the database was restarted; the worker was killed, and its next life stopped.
  it('are explained by a death without a database since the reply, when the next life was hit within the lease', () => {
    const now = performance.now();
    deliver(OTHER);
    scene.log.outage(now + 500, now + 8_000, 30);
    scene.log.begin('kill', LIFE, now + 8_500);
    expect(failures()).toEqual(['unexplainedDuplicates']);
    const late = scene.log.begin('stop', { ...LIFE, client: 'worker-1-2' }, now + 39_000);
    expect(failures()).toEqual(['unexplainedDuplicates']);
    late.at = now + 16_000;
    expect(failures()).toEqual([]);
    scene.log.outages[0].until = now + 5_000;
    expect(failures()).toEqual(['unexplainedDuplicates']);
  });

  it('are explained by a database that was away for longer than leases last, and by no short restart', () => {
    const now = performance.now();
    deliver(OTHER);
    scene.log.outage(now - 5_000, now, 30);
    expect(failures()).toEqual(['unexplainedDuplicates']);
    scene.log.outage(now - 25_000, now, 30);
    expect(failures()).toEqual([]);
  });

  it('need the same Message-ID, whatever the reason', () => {
    scene.log.begin('kill', LIFE);
    deliver(OTHER, 'another');
    expect(failures()).toEqual(['unexplainedDuplicates']);
  });
});

describe('recovery', () => {
  beforeEach(() => scene.sinkLedger.copies.clear());

  it('is the time from the death to the delivery by another worker', () => {
    scene.log.orphaned(scene.log.begin('kill', LIFE, performance.now() - 20_000), [ADDRESS]);
    expect(failures()).toContain('unrecovered');
    deliver(OTHER);
    expect(failures()).toEqual([]);
    const { recovery, passed } = result();
    expect([recovery.count, Math.round(recovery.p99 / 1_000), passed]).toEqual([1, 20, true]);
  });

  it('fails the run when it takes longer than a lease and five seconds', () => {
    scene.log.orphaned(scene.log.begin('kill', LIFE, performance.now() - 36_000), [ADDRESS]);
    deliver(OTHER);
    expect(failures()).toEqual([]);
    expect(result().passed).toBe(false);
  });

  it('begins again when the database comes back, and the result shows it', () => {
    const now = performance.now();
    scene.log.orphaned(scene.log.begin('kill', LIFE, now - 50_000), [ADDRESS]);
    scene.log.outage(now - 35_000, now - 30_000, 30);
    deliver(OTHER);
    const { recovery, passed } = result();
    expect([recovery.p99, recovery.rawP99].map((ms) => Math.round(ms / 1_000))).toEqual([30, 50]);
    expect(passed).toBe(true);
  });

  it('is counted from the first moment at which a worker can claim', () => {
    const now = performance.now();
    scene.log.workerReady(LIFE, now - 60_000);
    scene.log.workerReady(OTHER, now - 60_000);
    scene.log.orphaned(scene.log.begin('kill', LIFE, now - 50_000), [ADDRESS]);
    scene.log.workerGone(LIFE, now - 50_000);
    scene.log.workerGone(OTHER, now - 45_000);
    scene.log.workerReady(OTHER, now - 30_000);
    deliver(OTHER);
    const { recovery, workerless } = result();
    expect([recovery.p99, recovery.rawP99].map((ms) => Math.round(ms / 1_000))).toEqual([30, 50]);
    expect(workerless).toEqual([15_000]);
  });

  it('is counted from the death while another worker can claim', () => {
    const now = performance.now();
    scene.log.workerReady(LIFE, now - 60_000);
    scene.log.workerReady(OTHER, now - 60_000);
    scene.log.orphaned(scene.log.begin('kill', LIFE, now - 36_000), [ADDRESS]);
    scene.log.workerGone(LIFE, now - 36_000);
    scene.log.workerReady({ client: 'worker-1-2' }, now - 10_000);
    deliver(OTHER);
    expect(result()).toMatchObject({ passed: false, workerless: [] });
  });

  describe('of mail that two workers died with', () => {
    let releaseLog;
    beforeEach(() => {
      const now = performance.now();
      releaseLog = new ReleaseLog(scene.sinkLedger);
      releaseLog.started(OTHER, undefined, 'old');
      scene.log.orphaned(scene.log.begin('kill', LIFE, now - 60_000), [ADDRESS]);
      scene.log.orphaned(scene.log.begin('kill', { ...LIFE, client: 'worker-1-2' }, now - 44_000), [ADDRESS]);
      deliver(OTHER);
    });
    const recoveryOf = (plan) => {
      const upgrade = { plan: { ...PLAN, ...plan }, scene: { ...scene, releaseLog }, service, exitCodes };
      return evaluate(upgrade).recovery;
    };

    it('has a limit of its own while an old release runs, and says who delivered it', () => {
      const { count, p99, limit, suspects } = recoveryOf({ isUpgrade: true });
      expect([count, p99, limit]).toEqual([0, undefined, 35_000]);
      expect(suspects).toMatchObject({ count: 1, limit: 45_000, old: { count: 1 }, new: { count: 0 } });
      expect(Math.round(suspects.p99 / 1_000)).toBe(44);
    });

    it('is judged as any other without an upgrade', () => {
      const { count, suspects } = recoveryOf({});
      expect([count, suspects, result().passed]).toEqual([1, undefined, false]);
    });

    it('fails the run only when it takes longer than one after the other would', () => {
      releaseLog.migrated(['New'], 1);
      for (const [release, worker, port] of [
        ['old', OTHER, 1002],
        ['new', LIFE, 1003],
      ]) {
        releaseLog.started(worker, undefined, release);
        releaseLog.started({ client: `api-1-${port}` }, port, release);
        releaseLog.answered(port);
        scene.sinkLedger.copies.clear();
        deliver(worker);
      }
      const upgrade = { plan: { ...PLAN, isUpgrade: true }, scene: { ...scene, releaseLog }, service, exitCodes };
      expect(evaluate(upgrade).passed).toBe(true);
      const [recovery] = scene.log.recoveries;
      recovery.disturbance.at -= 2_000;
      recovery.ms += 2_000;
      expect(evaluate(upgrade).passed).toBe(false);
    });
  });

  it('of an upgrade finds a release that was not tried on the new schema', () => {
    const releaseLog = new ReleaseLog(scene.sinkLedger);
    const upgrade = () =>
      evaluate({ plan: { ...PLAN, isUpgrade: true }, scene: { ...scene, releaseLog }, service, exitCodes });
    releaseLog.started(LIFE, undefined, 'old');
    releaseLog.started({ client: 'api-1-1' }, 1001, 'old');
    releaseLog.answered(1001);
    expect(upgrade().checks.idleReleases).toMatchObject({ count: 6 });
    releaseLog.migrated(['New'], 1);
    for (const [release, worker, port] of [
      ['old', LIFE, 1002],
      ['new', OTHER, 1003],
    ]) {
      releaseLog.started(worker, undefined, release);
      releaseLog.started({ client: `api-1-${port}` }, port, release);
      releaseLog.answered(port);
    }
    scene.sinkLedger.copies.clear();
    deliver(LIFE);
    expect(upgrade().checks.idleReleases).toEqual({ count: 1, first: ['the new release: no delivered'] });
    expect(upgrade().passed).toBe(false);
    scene.sinkLedger.copies.clear();
    deliver(OTHER);
    expect(upgrade().passed).toBe(true);
    expect(upgrade().upgrade).toMatchObject({ migration: { applied: ['New'] }, new: { starts: 2, answered: 1 } });
  });
});
