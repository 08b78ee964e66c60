import { SystemClock } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import { DeliveryQueueRepository } from '../../../src/delivery/queue/delivery-queue.repository';
import { claimDeliveries } from '../../../src/delivery/queue/sql/claim-deliveries.sql';
import { WorkerSessionsRepository } from '../../../src/delivery/queue/worker-sessions.repository';
import { Claimer } from '../../../src/delivery/worker/claims/claimer';
import { SmtpSink } from '../../doubles/smtp-sink';
import { claimInput, fillQueue, keyOf, openPlanner } from '../../factories/deliveries';
import { DeliveryScene } from '../../setup/delivery-scene';
import { waitFor } from '../../setup/wait-for';

const NO_WEIGHTS = { weights: () => Promise.resolve(new Map<string, number>()) };

describe('several workers', () => {
  let scene: DeliveryScene;

  beforeAll(async () => {
    scene = await DeliveryScene.open();
  });
  afterEach(() => scene.clear());
  afterAll(() => scene.close());

  /** A worker's claims, without the rest of it. */
  async function openClaimer() {
    const { database } = scene.db;
    const clock = new SystemClock();
    const sessionId = newId();
    await new WorkerSessionsRepository(database, database).begin(sessionId, 'host', 1, 300);
    const queue = new DeliveryQueueRepository(database);
    const claimer = new Claimer(queue, NO_WEIGHTS, openPlanner(clock), clock);
    return { sessionId, claim: (organizationId: string) => claimer.claimOnlyFor(sessionId, [organizationId]) };
  }

  it('that are called for one organization at once take each mail once, and do not wait for each other', async () => {
    const organizationId = newId();
    await fillQueue(scene.db, 10, { organizationId });
    const [one, other] = [await openClaimer(), await openClaimer()];
    const input = claimInput(one.sessionId, { quotas: [{ organizationId, destination: 'example.com', most: 6 }] });
    // Its claim is not committed yet when the other one is called.
    const [first, second] = await scene.db.database.transaction(async (tx) => {
      const taken = await tx.run(claimDeliveries(input));
      return [taken, (await other.claim(organizationId)).claims] as const;
    });
    expect([first.length, second.length]).toEqual([6, 4]);
    expect(new Set([...first, ...second].map(keyOf)).size).toBe(10);
    expect((await one.claim(organizationId)).claims).toEqual([]);
  });

  it('share mail that is announced to both again and again, none of it twice', async () => {
    const organizationId = newId();
    const workers = [await openClaimer(), await openClaimer(), await openClaimer()];
    const taken: string[] = [];
    for (let round = 0; round < 10; round += 1) {
      await fillQueue(scene.db, 9, { organizationId });
      const claims = await Promise.all(workers.map((worker) => worker.claim(organizationId)));
      taken.push(...claims.flatMap((claim) => claim.claims.map(keyOf)));
    }
    expect(taken).toHaveLength(90);
    expect(new Set(taken).size).toBe(90);
  });

  it('send each mail once, and get notifications again after their connection for them was lost', async () => {
    const sink = await SmtpSink.start();
    try {
      await scene.startWorker({ hopPort: sink.port });
      await scene.startWorker({ hopPort: sink.port });
      const listeners = (query: string) =>
        scene.db.query<{ pid: number }>(
          `select ${query} from pg_stat_activity where datname = current_database() and query = 'listen waybill_work'`,
        );
      const known = await waitFor(async () => (await listeners('pid')).length === 2 && listeners('pid'), {
        what: 'both to listen',
      });
      await listeners('pg_terminate_backend(pid)');
      // No worker is notified, and it is found all the same.
      const unheard = await scene.acceptTo(...Array.from({ length: 20 }, (_, n) => `unheard${n}`));
      for (const id of unheard) await scene.readWhenStatus(id, 'sent');
      const isNew = ({ pid }: { pid: number }) => known.every((before) => before.pid !== pid);
      await waitFor(async () => (await listeners('pid')).filter(isNew).length === 2, { what: 'both to listen again' });
      const heard = await scene.acceptTo(...Array.from({ length: 20 }, (_, n) => `heard${n}`));
      for (const id of heard) await scene.readWhenStatus(id, 'sent');
      const recipients = sink.messages.flatMap((message) => message.recipients);
      expect(new Set(recipients).size).toBe(40);
      expect(recipients).toHaveLength(40);
    } finally {
      await scene.clear();
      await sink.stop();
    }
  });
});
