import { Logger } from '@nestjs/common';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { waitFor } from '../../../test/setup/wait-for';
import { UnavailableError } from '../../common/errors/app-error';
import { Metrics } from '../../common/metrics/metrics';
import { type HitWriter, TrackingMetrics } from './hit-writer.service';
import { BURST_MS, type Hit, type HitResult } from './hit-history';
import { HitQueue } from './hit-queue.service';

const AWAY = new UnavailableError();

class StubWriter {
  readonly written: string[] = [];
  readonly sizes: number[] = [];
  /** Why a batch cannot be written. */
  fails: (keys: readonly string[]) => Error | undefined = () => undefined;

  write(hits: readonly Hit[]): Promise<HitResult[]> {
    const keys = hits.map(({ linkKey }) => linkKey);
    const error = this.fails(keys);
    if (error) return Promise.reject(error);
    this.written.push(...keys);
    this.sizes.push(hits.length);
    return Promise.resolve(hits.map(() => 'recorded'));
  }
}

describe('HitQueue', () => {
  const clock = new FakeClock();
  let writer: StubWriter;
  let metrics: Metrics;
  let queue: HitQueue;
  beforeEach(() => {
    Logger.overrideLogger(false);
    writer = new StubWriter();
    metrics = new Metrics();
    queue = new HitQueue(writer as unknown as HitWriter, clock, new TrackingMetrics(metrics));
    queue.onModuleInit();
  });
  afterEach(() => queue.beforeApplicationShutdown());

  const add = (...keys: string[]) => addOf(1, ...keys);
  const addOf = (organizationOrdinal: number, ...keys: string[]) => {
    const target = { organizationOrdinal, mode: 'live', emailId: 'e', position: 0 } as const;
    const visitor = {
      occurredAt: clock.now(),
      atMs: clock.monotonicMs(),
      userAgent: '',
      isOnThisMachine: false,
      ip: undefined,
    };
    for (const linkKey of keys) queue.add({ kind: 'clicked', target, linkKey, ...visitor });
  };
  const counted = async (result: string) => {
    const text = await metrics.registry.metrics();
    return Number(new RegExp(`tracking_hits_total\\{kind="clicked",result="${result}"\\} (\\d+)`).exec(text)?.[1] ?? 0);
  };
  const waiting = async () => Number(/tracking_hits_waiting (\d+)/.exec(await metrics.registry.metrics())?.[1]);
  const numbered = (count: number) => Array.from({ length: count }, (_, index) => String(index));

  it('writes a hit once its time has passed, and not before', async () => {
    add('first');
    clock.advance(BURST_MS);
    add('second');
    await waitFor(() => writer.written.length > 0, { what: 'a batch' });
    expect(writer.written).toEqual(['first']);
    expect(await waiting()).toBe(1);
  });

  it('writes in batches, in order', async () => {
    add(...numbered(1_234));
    clock.advance(BURST_MS);
    await waitFor(() => writer.written.length === 1_234, { what: 'all batches' });
    expect(writer.sizes).toEqual([500, 500, 234]);
    expect(writer.written).toEqual(numbered(1_234));
    expect(await counted('recorded')).toBe(1_234);
  });

  it('keeps hits while the database is away, and drops what is too much', async () => {
    let tries = 0;
    writer.fails = () => {
      tries += 1;
      return AWAY;
    };
    add(...numbered(9_003));
    expect(await counted('dropped')).toBe(3);
    clock.advance(BURST_MS);
    await waitFor(() => tries === 1, { what: 'the first try' });
    clock.advance(BURST_MS);
    await waitFor(() => tries === 2, { what: 'the second try' });
    writer.fails = () => undefined;
    clock.advance(BURST_MS);
    await waitFor(() => writer.written.length === 9_000, { what: 'all to be written' });
    expect(writer.written).toEqual(numbered(9_000));
    expect(await counted('dropped')).toBe(3);
  });

  it('keeps room for others beside an organization with very many hits', async () => {
    writer.fails = () => AWAY;
    addOf(1, ...numbered(20_000));
    addOf(2, ...numbered(500));
    expect(await counted('dropped')).toBe(11_000);
    expect(await waiting()).toBe(9_500);
    writer.fails = () => undefined;
    clock.advance(BURST_MS);
    await waitFor(() => writer.written.length === 9_500, { what: 'all to be written' });
    addOf(1, ...numbered(9_000));
    expect(await counted('dropped')).toBe(11_000);
  });

  it('drops the one hit that cannot be written', async () => {
    writer.fails = (keys) => (keys.includes('bad') ? new Error('poison') : undefined);
    add('a', 'bad', 'b');
    clock.advance(BURST_MS);
    await waitFor(() => writer.written.length === 2, { what: 'the others' });
    expect(writer.written).toEqual(['a', 'b']);
    expect(await counted('dropped')).toBe(1);
  });

  it('writes all that waits when the process stops', async () => {
    add('a');
    await queue.beforeApplicationShutdown();
    expect(writer.written).toEqual(['a']);
  });

  it('stops without the database', async () => {
    writer.fails = () => AWAY;
    add('a', 'b');
    await queue.beforeApplicationShutdown();
    expect(await counted('dropped')).toBe(2);
    expect(await waiting()).toBe(0);
  });
});
