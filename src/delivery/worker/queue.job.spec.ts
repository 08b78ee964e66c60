import type { ClaimedDelivery } from '../ports/delivery';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { QueueSweepJob, RecordSendingJob } from './queue.job';

describe('RecordSendingJob', () => {
  function setUp(count: number) {
    const claims = Array.from({ length: count }, (_, position) => {
      return { emailId: 'e', position, attempt: 1, sessionId: 's' } as unknown as ClaimedDelivery;
    });
    const over = new Set<ClaimedDelivery>();
    const recorded: (readonly ClaimedDelivery[])[] = [];
    const clock = new FakeClock();
    const onBegin = { do: () => undefined as unknown };
    const job = new RecordSendingJob(
      { start: () => undefined } as never,
      { claims: () => claims, isOver: (claim: ClaimedDelivery) => over.has(claim) } as never,
      {
        begin: (batch: readonly ClaimedDelivery[]) => {
          recorded.push(batch);
          onBegin.do();
          return Promise.resolve();
        },
      } as never,
      { holds: () => true } as never,
      clock,
    );
    return { job, claims, over, recorded, clock, onBegin };
  }

  it('records attempts that last, once', async () => {
    const { job, claims, recorded, clock } = setUp(2);
    await job.recordLate();
    clock.advance(2_000);
    await job.recordLate();
    clock.advance(2_000);
    await job.recordLate();
    expect(recorded).toEqual([claims]);
  });

  it('leaves out those whose result waits for its commit', async () => {
    const { job, claims, over, recorded, clock } = setUp(3);
    await job.recordLate();
    over.add(claims[0] as ClaimedDelivery).add(claims[2] as ClaimedDelivery);
    clock.advance(2_000);
    await job.recordLate();
    expect(recorded).toEqual([[claims[1]]]);
  });

  it('leaves out those that ended while others were recorded', async () => {
    const { job, claims, over, recorded, clock, onBegin } = setUp(450);
    await job.recordLate();
    onBegin.do = () => claims.slice(200, 400).forEach((claim) => over.add(claim));
    clock.advance(2_000);
    await job.recordLate();
    expect(recorded).toEqual([claims.slice(0, 200), claims.slice(400)]);
  });
});

describe('QueueSweepJob', () => {
  /** @param batches how many deliveries each claim finds; @param settled whether each batch is settled in time */
  function setUp({ batches, settled }: { batches: number[]; settled: boolean[] }) {
    const taken: number[] = [];
    const pipeline = {
      isClosing: false,
      take: (claims: readonly unknown[]) => Promise.resolve(taken.push(claims.length)),
      isSettledWithin: () => Promise.resolve(settled.shift() ?? true),
    };
    const queue = { claimOverdue: () => Promise.resolve(Array.from({ length: batches.shift() ?? 0 }, () => ({}))) };
    const jobs = { start: () => undefined };
    const session = { id: 's' };
    const job = new QueueSweepJob(jobs as never, queue as never, session as never, pipeline as never, new FakeClock());
    return { job, taken, pipeline };
  }

  it('ends what is overdue batch after batch, until one is not full', async () => {
    const { job, taken } = setUp({ batches: [500, 500, 3, 500], settled: [] });
    await job.endOverdue();
    expect(taken).toEqual([500, 500, 3]);
  });

  it('leaves the rest to the next run while a batch is not settled', async () => {
    const { job, taken } = setUp({ batches: [500, 500, 500], settled: [true, false] });
    await job.endOverdue();
    expect(taken).toEqual([500, 500]);
  });

  it('ends nothing once the worker stops', async () => {
    const { job, taken, pipeline } = setUp({ batches: [500], settled: [] });
    pipeline.isClosing = true;
    await job.endOverdue();
    expect(taken).toEqual([]);
  });
});
