import { FakeClock } from '../../../test/doubles/fake-clock';
import { UnavailableError } from '../../common/errors/app-error';
import { InstallationGauges } from '../../common/jobs/installation-gauges';
import type { JobLeases } from '../../common/jobs/periodic-jobs';
import { Metrics } from '../../common/metrics/metrics';
import { type HeldDestinations, HeldLookup } from '../shaping/held-destinations.service';
import type { QueueMeasures } from './queue-measures.service';
import { QueueMetrics } from './queue.metrics';

const MEASURE = {
  ...{ ready: 3, waiting: 2, claimed: 1, held: 0, heldBack: 2, oldestReadySeconds: 12.5, workers: 4 },
  crowding: {},
};
const HELD = (['paused', 'paused', 'slowed', 'open'] as const).map((state, index) => ({
  ...{ key: `mx${index}.example`, mxHosts: [], domains: [], state, rules: [] },
}));
const BLOAT = { deadRows: 7, bytes: 8_192 };

/** The leases of one database. */
class SharedLeases {
  private readonly held = new Map<string, { holder: object; untilMs: number }>();
  isAway = false;

  constructor(private readonly clock: FakeClock) {}

  of(holder: object): JobLeases {
    return {
      take: (job, seconds) => {
        if (this.isAway) return Promise.reject(new UnavailableError());
        const now = this.clock.monotonicMs();
        const lease = this.held.get(job);
        if (lease && lease.holder !== holder && lease.untilMs > now) return Promise.resolve(false);
        this.held.set(job, { holder, untilMs: now + seconds * 1_000 });
        return Promise.resolve(true);
      },
      release: (job) => Promise.resolve(void (this.held.get(job)?.holder === holder && this.held.delete(job))),
    };
  }
}

const processes: InstallationGauges[] = [];
afterEach(() => Promise.all(processes.splice(0).map((gauges) => gauges.onModuleDestroy())));

/** One process of an installation. */
function setUp(measure: () => Promise<typeof MEASURE>, clock = new FakeClock(), leases = new SharedLeases(clock)) {
  const metrics = new Metrics();
  const gauges = new InstallationGauges(leases.of({}), metrics, clock, true);
  processes.push(gauges);
  const queue = { last: measure, bloat: () => Promise.resolve(BLOAT) };
  const held = { get: () => Promise.resolve(new HeldLookup(HELD)) } as Partial<HeldDestinations> as HeldDestinations;
  new QueueMetrics(queue as Partial<QueueMeasures> as QueueMeasures, held, gauges, metrics, clock);
  const scrape = () => metrics.registry.metrics();
  const values = async () =>
    (await scrape()).match(/^waybill_(queue_(deliveries|held_back|oldest|dead|table)|workers).* /gm);
  return { clock, leases, gauges, scrape, values };
}

describe('QueueMetrics', () => {
  it('shows the queue with one measure per scrape, and none within 2 s', async () => {
    let measured = 0;
    const { clock, scrape } = setUp(() => Promise.resolve({ ...MEASURE, workers: (measured += 1) }));
    const text = await scrape();
    expect(text).toContain('waybill_queue_deliveries{state="ready"} 3');
    expect(text).toContain('waybill_queue_deliveries{state="waiting"} 2');
    expect(text).toContain('waybill_queue_deliveries{state="claimed"} 1');
    expect(text).toContain('waybill_queue_held_back_deliveries 2');
    expect(text).toContain('waybill_queue_oldest_ready_seconds 12.5');
    expect(text).toContain('waybill_queue_dead_rows 7');
    expect(text).toContain('waybill_destinations_held_back{state="paused"} 2');
    expect(text).toContain('waybill_destinations_held_back{state="probing"} 0');
    expect(text).toContain('waybill_destinations_held_back{state="slowed"} 1');
    expect(text).toContain('waybill_workers 1');
    clock.advance(1_999);
    expect(await scrape()).toContain('waybill_workers 1');
    clock.advance(1);
    expect(await scrape()).toContain('waybill_workers 2');
  });

  it('shows nothing rather than old values when the measure fails, and counts that', async () => {
    let fails = false;
    const { clock, scrape } = setUp(() => (fails ? Promise.reject(new UnavailableError()) : Promise.resolve(MEASURE)));
    expect(await scrape()).toContain('waybill_queue_measure_failures_total 0');
    fails = true;
    clock.advance(2_000);
    await scrape();
    const text = await scrape();
    expect(text).toContain('waybill_queue_measure_failures_total 1');
    expect(text).not.toMatch(/^waybill_(queue_deliveries|queue_oldest_ready_seconds|workers)[ {]/m);
    fails = false;
    clock.advance(2_000);
    expect(await scrape()).toContain('waybill_workers 4');
  });

  it('is shown by one process of an installation, and by another one after that', async () => {
    const measure = () => Promise.resolve(MEASURE);
    const first = setUp(measure);
    const second = setUp(measure, first.clock, first.leases);
    expect(await first.values()).toHaveLength(9);
    expect(await second.values()).toBeNull();
    // Stopped in order: at once.
    await first.gauges.onModuleDestroy();
    expect(await first.values()).toBeNull();
    first.clock.advance(11_000);
    expect(await second.values()).toHaveLength(9);
    // Killed: when its lease ends.
    const third = setUp(measure, first.clock, first.leases);
    expect(await third.values()).toBeNull();
    first.clock.advance(16_000);
    expect(await third.values()).toHaveLength(9);
    expect(await second.values()).toBeNull();
  });

  it('is shown by no process once a lease cannot be renewed', async () => {
    const { clock, leases, values } = setUp(() => Promise.resolve(MEASURE));
    expect(await values()).toHaveLength(9);
    leases.isAway = true;
    clock.advance(14_000);
    expect(await values()).toHaveLength(9);
    clock.advance(2_000);
    expect(await values()).toBeNull();
  });
});
