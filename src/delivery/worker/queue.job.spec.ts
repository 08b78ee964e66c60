import type { ClaimedDelivery } from '../ports/delivery';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { RecordSendingJob } from './queue.job';

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
