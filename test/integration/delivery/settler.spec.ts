import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HOUR } from '../../../src/common/clock';
import { CommitUnknownError, UnavailableError } from '../../../src/common/errors/app-error';
import { Metrics } from '../../../src/common/metrics/metrics';
import { Database } from '../../../src/database/pool/database.service';
import { type DeliveryOutcome, OutcomeSink } from '../../../src/delivery/ports/outcome';
import { Claimer } from '../../../src/delivery/worker/claims/claimer';
import { JournalTakeover } from '../../../src/delivery/results/journal-takeover';
import { ResultCommit } from '../../../src/delivery/results/result-commit';
import { Settler } from '../../../src/delivery/results/settler';
import { WorkerSession } from '../../../src/delivery/worker/session/worker-session';
import { outcomeOfClaim } from '../../factories/outcomes';
import type { Core } from '../../setup/core-context';
import { DeliveryScene } from '../../setup/delivery-scene';
import { waitFor } from '../../setup/wait-for';

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
    return worker.get(Claimer).claim(session.id ?? '', { limit: 1_000 });
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

  it('makes smaller transactions where large ones take too long', async () => {
    const ids = await scene.acceptTo(...Array.from({ length: 120 }, (_, n) => `r${n}`));
    const results = worker.get(ResultCommit);
    const commit = results.commit.bind(results);
    jest.spyOn(results, 'commit').mockImplementation((batch) => {
      const cause = Object.assign(new Error('canceling statement due to statement timeout'), { code: '57014' });
      return batch.length > 30 ? Promise.reject(new UnavailableError('too slow', cause)) : commit(batch);
    });
    worker.get(Settler).retryMs = 1;
    await Promise.all(settleAll(await claimAll()));
    expect(await scene.queue()).toEqual({});
    expect((await scene.read(ids[0] ?? '')).email.status).toBe('delivered');
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

  it('takes no result for outdated that its own commit has taken, when the reply was lost', async () => {
    const [id = ''] = await scene.acceptTo('ada');
    const database = worker.get(Database);
    const transaction = database.transaction.bind(database);
    jest.spyOn(database, 'transaction').mockImplementationOnce(async (work, tenants) => {
      await transaction(work, tenants);
      throw new CommitUnknownError(new Error('Connection terminated unexpectedly'));
    });
    worker.get(Settler).retryMs = 1;
    await Promise.all(settleAll(await claimAll()));
    expect((await scene.read(id)).email.status).toBe('delivered');
    const metrics = await worker.get(Metrics).registry.metrics();
    expect(metrics).toMatch(/^waybill_outdated_results_total 0$/m);
    expect(metrics).toMatch(/^waybill_live_deliveries_total\{outcome="delivered"\} 1$/m);
  });

  it('records the start of attempts beside one that cannot be recorded', async () => {
    const [poison = '', other = ''] = await scene.acceptTo('poison', 'ada');
    const claims = await claimAll();
    const sink = worker.get(OutcomeSink);
    const record = sink.record.bind(sink);
    jest.spyOn(sink, 'record').mockImplementation((outcomes, tx) => {
      if (outcomes.some(({ emailId }) => emailId === poison)) return Promise.reject(new Error('cannot be written'));
      return record(outcomes, tx);
    });
    await worker.get(ResultCommit).begin(claims);
    expect((await scene.read(other)).email.status).toBe('sending');
    expect((await scene.read(poison)).email.status).toBe('queued');
  });

  describe('of a result that the database refuses', () => {
    const SMTP = { code: 250, response: 'unstorable', mxHost: 'mx.x.example' };

    /** Refuses events, and with `all` the row of the email too. */
    async function refuseEvents(condition: string): Promise<void> {
      await scene.db.query(`
        create or replace function refuse() returns trigger language plpgsql as $$
          begin
            if ${condition} then raise 'refused'; end if;
            return new;
          end $$;
        create or replace trigger refuse before insert on email_events for each row execute function refuse()`);
    }
    afterEach(() => scene.db.query('drop trigger if exists refuse on email_events'));

    async function settleOne(outcome: DeliveryOutcome): Promise<string> {
      const [id = ''] = await scene.acceptTo('ada');
      const [claim] = await claimAll();
      if (!claim) throw new Error('nothing was claimed');
      const settler = worker.get(Settler);
      settler.retryMs = 1;
      await settler.settle({ claim, outcomes: [outcomeOfClaim(claim, outcome)] });
      return id;
    }

    it('stores all but its details', async () => {
      await refuseEvents(`new.data::text like '%unstorable%'`);
      const id = await settleOne({ kind: 'delivered', smtp: SMTP });
      expect(await scene.queue()).toEqual({});
      expect((await scene.read(id)).email.status).toBe('delivered');
    });

    it('makes the next attempt as planned, without an event', async () => {
      await refuseEvents(`new.event_type = 'deferred'`);
      const nextAttemptAt = new Date(Date.now() + HOUR);
      const id = await settleOne({ kind: 'deferred', nextAttemptAt, reason: 'timeout' });
      expect((await scene.read(id)).deliveries).toMatchObject([
        { state: 'waiting', attempt: 1, due_at: nextAttemptAt },
      ]);
    });

    it('puts the mail aside, and settles it once the database takes it, without a restart', async () => {
      await refuseEvents(`new.event_type = 'delivered'`);
      const results = worker.get(ResultCommit);
      const retry = results.retry.bind(results);
      let refusals = 0;
      // A try stores less when the database takes it in its middle.
      const tries = jest.spyOn(results, 'retry').mockImplementation(async (settlement) => {
        if (refusals === 0 && !(await retry(settlement))) refusals += 1;
        return false;
      });
      const id = await settleOne({ kind: 'delivered', smtp: SMTP });
      expect(await scene.queue()).toEqual({ held: 1 });
      await waitFor(() => refusals === 1, { what: 'a further refusal' });
      await scene.db.query('drop trigger refuse on email_events');
      tries.mockRestore();
      const { events } = await scene.readWhenStatus(id, 'delivered');
      expect(events.at(-1)).toMatchObject({ event_type: 'delivered', data: { response: 'unstorable' } });
      expect(await scene.queue()).toEqual({});
    });

    it('puts the mail aside, so that it is not repeated, and settles it from the journal after a restart', async () => {
      const WAYBILL_DATA_DIR = mkdtempSync(join(tmpdir(), 'waybill-unstored-'));
      const options = { hopPort: 1, isRunning: false, env: { WAYBILL_DATA_DIR } };
      worker = await scene.startWorker(options);
      await refuseEvents(`new.event_type = 'delivered'`);
      const id = await settleOne({ kind: 'delivered', smtp: SMTP });
      expect((await scene.read(id)).deliveries).toMatchObject([
        { state: 'held', session_id: null, held_reason: expect.stringMatching(/could not be stored: it was accepted/) },
      ]);
      worker.get(Settler).end();
      await worker.close();
      await scene.db.query('drop trigger refuse on email_events');
      await (await scene.startWorker(options)).get(JournalTakeover).takeAll();
      expect(await scene.queue()).toEqual({});
      expect((await scene.read(id)).email.status).toBe('delivered');
      rmSync(WAYBILL_DATA_DIR, { recursive: true });
    });
  });

  async function commits(): Promise<number> {
    const [row] = await scene.db.query<{ count: number }>('select count(distinct xmin::text)::int from email_events');
    return row?.count ?? 0;
  }
});
