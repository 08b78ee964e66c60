import { Test } from '@nestjs/testing';
import { TerminusModule } from '@nestjs/terminus';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { Clock, DatabaseClock } from '../../common/clock';
import { DiskSpace } from '../../common/disk-space';
import { UnavailableError } from '../../common/errors/app-error';
import { Draining } from '../../common/http/server/draining';
import { Database } from '../../database/pool/database.service';
import { AppConfig } from '../../config/config';
import { HeldDestinations, HeldLookup } from '../../delivery/shaping/held-destinations.service';
import { QueueMeasures } from '../../delivery/queue/queue-measures.service';
import { type DatabaseHealth, DatabaseProbe } from './database-probe';
import { HealthService } from './health.service';
import {
  DatabaseHealthIndicator,
  HostHealthIndicator,
  ProcessHealthIndicator,
  QueueHealthIndicator,
} from './health-indicators';

const UP: DatabaseHealth = { healthy: true, latencyMs: 1 };
const DOWN: DatabaseHealth = { healthy: false, latencyMs: 2_000, error: 'timeout' };
const MEASURE = { ready: 3, waiting: 2, claimed: 1, oldestReadySeconds: 4.6, workers: 2 };
const NOW = '2026-01-05T12:00:00.000Z';

class Doubles {
  readonly clock = new FakeClock(NOW);
  readonly draining = new Draining();
  database = UP;
  freeBytes: number | undefined;
  measure = () => Promise.resolve(MEASURE);
  relay: { host: string } | undefined;
  held = new HeldLookup([]);
  asked = 0;

  async service(knowsDraining = true, clock: Clock = this.clock): Promise<HealthService> {
    const folders = this.freeBytes === undefined ? [] : ['/data'];
    const freeBytes = () => Promise.resolve(this.freeBytes ?? 0);
    const disk = new DiskSpace({ folders, reserveBytes: 100, freeBytes });
    await disk.read();
    const module = await Test.createTestingModule({
      imports: [TerminusModule.forRoot({ logger: false })],
      providers: [
        { provide: Clock, useValue: clock },
        { provide: DiskSpace, useValue: disk },
        ...(knowsDraining ? [{ provide: Draining, useValue: this.draining }] : []),
        { provide: DatabaseProbe, useValue: { check: () => Promise.resolve(this.database) } },
        { provide: Database, useValue: { rowSecurity: { state: 'on', role: 'owner_tenant' } } },
        { provide: QueueMeasures, useValue: { last: () => this.count() } },
        { provide: AppConfig, useValue: { delivery: this } },
        { provide: HeldDestinations, useValue: { get: () => Promise.resolve(this.held) } },
        DatabaseHealthIndicator,
        QueueHealthIndicator,
        HostHealthIndicator,
        ProcessHealthIndicator,
        HealthService,
      ],
    }).compile();
    return module.get(HealthService);
  }

  private count() {
    this.asked += 1;
    return this.measure();
  }
}

describe('HealthService', () => {
  const doubles = () => new Doubles();

  it('is alive whatever happens', async () => {
    const given = doubles();
    given.database = DOWN;
    given.draining.begin();
    expect((await given.service()).live()).toEqual({ status: 'ok', timestamp: NOW, service: 'waybill' });
    expect(given.asked).toBe(0);
  });

  it('is degraded while the relay gets no mail', async () => {
    const given = doubles();
    const service = await given.service();
    expect((await service.report()).services).not.toHaveProperty('smtp');
    given.relay = { host: 'relay.example' };
    expect(await service.report()).toMatchObject({
      status: 'ok',
      services: { smtp: { healthy: true, relay: 'open' } },
    });
    const group = { key: 'relay.example', mxHosts: [], domains: [], state: 'paused' as const, rules: [] };
    given.held = new HeldLookup([{ ...group, cause: 'The name of the next hop is not found' }]);
    expect(await service.report()).toMatchObject({
      status: 'degraded',
      services: { smtp: { healthy: false, relay: 'paused' } },
    });
  });

  it('is ready while the database answers', async () => {
    const given = doubles();
    const service = await given.service();
    expect(await service.ready()).toEqual({ status: 'ready', timestamp: NOW, database: UP });
    given.database = DOWN;
    expect(await service.ready()).toEqual({ status: 'not_ready', timestamp: NOW, database: DOWN });
    given.database = UP;
    given.draining.begin();
    expect(await service.ready()).toEqual({ status: 'not_ready', timestamp: NOW, database: UP });
  });

  it('reports the queue and the process', async () => {
    const service = await doubles().service();
    expect(await service.report()).toEqual({
      status: 'ok',
      timestamp: NOW,
      uptime: expect.any(Number),
      memory: { rss: expect.any(Number), heapUsed: expect.any(Number), heapTotal: expect.any(Number) },
      services: {
        database: UP,
        queue: { healthy: true, depth: 6, oldestSeconds: 5, ready: 3, waiting: 2, claimed: 1 },
        clock: { healthy: true, offsetSeconds: 0 },
        disk: { healthy: true },
        rowLevelSecurity: 'on',
        workers: 2,
      },
      environment: { nodeVersion: process.version, platform: process.platform, arch: process.arch },
    });
  });

  it.each([
    ['no worker is alive', { workers: 0 }, 'degraded'],
    ['the oldest mail is late', { oldestReadySeconds: 901 }, 'degraded'],
    ['mail waits for a moment', { oldestReadySeconds: 899 }, 'ok'],
  ])('says what it means that %s', async (_title, change, status) => {
    const given = doubles();
    given.measure = () => Promise.resolve({ ...MEASURE, ...change });
    expect((await (await given.service()).report()).status).toBe(status);
  });

  it('is degraded while the clock contradicts the database', async () => {
    const given = doubles();
    const clock = new DatabaseClock(given.clock);
    const databaseNow = new Date(given.clock.now().getTime() - 7_500);
    clock.read({ databaseNow, ownNow: given.clock.now(), monotonicMs: 0, errorMs: 0 });
    const { status, services } = await (await given.service(true, clock)).report();
    expect([status, services.clock]).toEqual(['degraded', { healthy: false, offsetSeconds: 7.5 }]);
  });

  it('is degraded while a disk is nearly full', async () => {
    const given = doubles();
    given.freeBytes = 99;
    const { status, services } = await (await given.service()).report();
    expect([status, services.disk]).toEqual(['degraded', { healthy: false, freeBytes: 99 }]);
  });

  it('is degraded while stopping, and does without anything to tell it', async () => {
    const given = doubles();
    given.draining.begin();
    expect((await (await given.service()).report()).status).toBe('degraded');
    expect((await (await given.service(false)).report()).status).toBe('ok');
  });

  it('reports why the queue could not be measured, and measures once for many requests', async () => {
    const given = doubles();
    given.measure = () => Promise.reject(new UnavailableError('the secret inside', new Error('Query read timeout')));
    const service = await given.service();
    const reports = await Promise.all([service.report(), service.report()]);
    for (const { status, services } of reports) {
      expect(status).toBe('degraded');
      expect(services).toMatchObject({ database: UP, queue: { healthy: false, error: 'timeout' } });
    }
    expect(given.asked).toBe(1);
    given.clock.advance(2_000);
    given.measure = () => Promise.resolve(MEASURE);
    expect((await service.report()).status).toBe('ok');
  });

  it('is unhealthy without the database', async () => {
    const given = doubles();
    given.database = DOWN;
    const report = await (await given.service()).report();
    expect([report.status, report.services.database]).toEqual(['unhealthy', DOWN]);
  });
});
