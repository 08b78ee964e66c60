import { FakeClock } from '../../../test/doubles/fake-clock';
import { UnavailableError } from '../../common/errors/app-error';
import { Metrics } from '../../common/metrics/metrics';
import type { DeliveryQueueRepository } from './delivery-queue.repository';
import { QueueMetrics } from './queue.metrics';

const MEASURE = { ready: 3, waiting: 2, claimed: 1, oldestReadySeconds: 12.5, workers: 4 };

function setUp(measure: () => Promise<typeof MEASURE>) {
  const metrics = new Metrics();
  const clock = new FakeClock();
  new QueueMetrics(
    { lastMeasure: measure } as Partial<DeliveryQueueRepository> as DeliveryQueueRepository,
    metrics,
    clock,
  );
  return { clock, scrape: () => metrics.registry.metrics() };
}

describe('QueueMetrics', () => {
  it('shows the queue with one measure per scrape, and none within 2 s', async () => {
    let measured = 0;
    const { clock, scrape } = setUp(() => Promise.resolve({ ...MEASURE, workers: (measured += 1) }));
    const text = await scrape();
    expect(text).toContain('waybill_queue_deliveries{state="ready"} 3');
    expect(text).toContain('waybill_queue_deliveries{state="waiting"} 2');
    expect(text).toContain('waybill_queue_deliveries{state="claimed"} 1');
    expect(text).toContain('waybill_queue_oldest_ready_seconds 12.5');
    expect(text).toContain('waybill_workers 1');
    clock.advance(1_999);
    expect(await scrape()).toContain('waybill_workers 1');
    clock.advance(1);
    expect(await scrape()).toContain('waybill_workers 2');
  });

  it('shows nothing rather than old values when the measure fails, and counts that', async () => {
    let fails = false;
    const { clock, scrape } = setUp(() => (fails ? Promise.reject(new UnavailableError()) : Promise.resolve(MEASURE)));
    expect(await scrape()).toContain('waybill_queue_measure_failed 0');
    fails = true;
    clock.advance(2_000);
    await scrape();
    const text = await scrape();
    expect(text).toContain('waybill_queue_measure_failed 1');
    expect(text).not.toMatch(/^waybill_(queue_deliveries|queue_oldest_ready_seconds|workers)[ {]/m);
    fails = false;
    clock.advance(2_000);
    expect(await scrape()).toContain('waybill_workers 4');
  });
});
