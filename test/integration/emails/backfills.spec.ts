import type { Backfill } from '../../../src/database/installation/backfill';
import { BackfillsJob } from '../../../src/database/installation/backfills.job';
import { DAY } from '../../../src/common/clock';
import { firstIdAt } from '../../../src/common/ids';
import { EventPhasesBackfill } from '../../../src/modules/emails/outcomes/event-phases.backfill';
import { DomainsApp } from '../domains/domains-app';

const FORMER = ['final-dot', 'body', 'ehlo', 'final', 'rcpt', null];
const EVENTS = 2_500;

describe('backfills', () => {
  let app: DomainsApp;
  let jobs: BackfillsJob;

  beforeAll(async () => {
    // A batch takes no second connection.
    app = await DomainsApp.start({ DATABASE_POOL_SIZE: '1' });
    jobs = app.get(BackfillsJob);
    for (const { organizationId } of await Promise.all(['A', 'B', 'C'].map((name) => app.owner(name)))) {
      await app.db.query(
        `insert into email_events (organization_id, mode, email_id, sequence, id, event_type, source, occurred_at, data)
         select $1, case when n % 7 = 0 then 'test' else 'live' end, ('01900000' || substr(gen_random_uuid()::text, 9))::uuid, n % 5, gen_random_uuid(), 'deferred', 'smtp',
           now(), jsonb_strip_nulls(jsonb_build_object('phase', ($2::text[])[1 + n % 6], 'response', '421 later'))
         from generate_series(1, $3) n`,
        [organizationId, FORMER, EVENTS],
      );
    }
    await app.db.query('analyze email_events');
  });
  afterAll(() => app.close());

  const phases = () =>
    app.db.query<{ phase: string | null; count: number }>(
      `select data->>'phase' as phase, count(*)::int from email_events where data->>'response' = '421 later'
       group by 1 order by 1 nulls last`,
    );

  it('continue where they stopped, batch by batch, and report their progress', async () => {
    const before = await phases();
    const count = (...names: (string | null)[]) =>
      before.filter(({ phase }) => names.includes(phase)).reduce((sum, row) => sum + row.count, 0);
    const broken = breakDown(app.get(EventPhasesBackfill), 5);
    await expect(jobs.run()).rejects.toThrow('broken');
    broken.mockRestore();
    const [half] = await jobs.progress();
    expect(half).toMatchObject({ name: 'event-phases', isFinished: false, examined: EVENTS });
    expect(half?.percent).toBe(33);

    await jobs.run();
    const [done] = await jobs.progress();
    const renamed = count('final-dot', 'body', 'ehlo');
    expect(done).toEqual({
      name: 'event-phases',
      isFinished: true,
      percent: 100,
      examined: 3 * EVENTS,
      changed: renamed,
    });
    expect(await phases()).toEqual([
      { phase: 'data', count: count('body') },
      { phase: 'final', count: count('final', 'final-dot') },
      { phase: 'greeting', count: count('ehlo') },
      { phase: 'rcpt', count: count('rcpt') },
      { phase: null, count: count(null) },
    ]);
  });

  it('leave alone the mail that is accepted after they began', async () => {
    const { organizationId } = await app.owner('D');
    const add = (id: string) =>
      app.db.query(
        `insert into email_events (organization_id, mode, email_id, sequence, id, event_type, source, occurred_at, data)
         values ($1, 'test', $2, 0, gen_random_uuid(), 'deferred', 'smtp', now(), '{"phase": "body"}')`,
        [organizationId, id],
      );
    await add(firstIdAt(new Date(app.clock.now().getTime() - DAY)));
    await add(firstIdAt(new Date(app.clock.now().getTime() + DAY)));
    await app.db.query('delete from backfill_runs');
    jobs.register(app.get(EventPhasesBackfill));
    await jobs.run();
    const [done] = await jobs.progress();
    expect(done).toMatchObject({ isFinished: true, examined: 3 * EVENTS + 1, changed: 1 });
  });

  it('are done once', async () => {
    const again: Backfill = { name: 'event-phases', estimate: jest.fn(), next: jest.fn() };
    jobs.register(again);
    await jobs.run();
    expect(again.next).not.toHaveBeenCalled();
  });
});

/** Fails at one of its batches, inside the transaction. */
function breakDown(backfill: EventPhasesBackfill, at: number) {
  const next = backfill.next.bind(backfill);
  let calls = 0;
  return jest.spyOn(backfill, 'next').mockImplementation(async (position, tx) => {
    const batch = await next(position, tx);
    if ((calls += 1) === at) throw new Error('broken');
    return batch;
  });
}
