import { Claimer } from '../../../src/delivery/worker/claimer';
import { Settler } from '../../../src/delivery/worker/settler';
import { WorkerSession } from '../../../src/delivery/worker/worker-session';
import { outcomeOfClaim } from '../../factories/outcomes';
import type { Core } from '../../setup/core-context';
import { DeliveryScene } from '../../setup/delivery-scene';

describe('settling', () => {
  let scene: DeliveryScene;
  let worker: Core;

  beforeAll(async () => {
    scene = await DeliveryScene.open();
  });
  beforeEach(async () => {
    worker = await scene.startWorker({ hopPort: 1, isRunning: false });
  });
  afterEach(() => scene.clear());
  afterAll(() => scene.close());

  async function claimAll() {
    const session = worker.get(WorkerSession);
    await session.begin();
    return worker.get(Claimer).claim(session.id ?? '', 1_000, []);
  }

  const settleAll = (claims: Awaited<ReturnType<typeof claimAll>>) =>
    claims.map((claim) =>
      worker.get(Settler).settle({ claim, outcomes: [outcomeOfClaim(claim, { kind: 'delivered' })] }),
    );

  it('takes many results in few transactions', async () => {
    await scene.acceptTo(...Array.from({ length: 100 }, (_, n) => `r${n}`));
    const claims = await claimAll();
    const before = await commits();
    await Promise.all(settleAll(claims));
    expect(await scene.queue()).toEqual({});
    // One row for each commit, to distinguish them.
    expect((await commits()) - before).toBeLessThanOrEqual(5);
  });

  it('is not held up by a result that cannot be committed', async () => {
    const [poison = '', ...others] = await scene.acceptTo('poison', ...Array.from({ length: 20 }, (_, n) => `r${n}`));
    await scene.db.query(`
      create function refuse() returns trigger language plpgsql as $$
        begin
          if new.event_type = 'delivered' and new.data ->> 'recipient' like 'poison%' then raise 'poison'; end if;
          return new;
        end $$;
      create trigger refuse before insert on email_events for each row execute function refuse()`);
    const settled = settleAll(await claimAll());
    for (const id of others) await scene.readWhenStatus(id, 'delivered');
    expect(await scene.queue()).toEqual({ claimed: 1 });
    expect((await scene.read(poison)).email.status).toBe('queued');
    // It is tried again and again, so that what has been mended is committed.
    await scene.db.query('drop trigger refuse on email_events');
    await Promise.all(settled);
    expect(await scene.queue()).toEqual({});
    expect((await scene.read(poison)).email.status).toBe('delivered');
  });

  async function commits(): Promise<number> {
    const [row] = await scene.db.query<{ count: number }>('select count(distinct xmin::text)::int from email_events');
    return row?.count ?? 0;
  }
});
