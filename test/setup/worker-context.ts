import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, DatabaseClock } from '../../src/common/clock';
import { EgressClient } from '../../src/common/egress/egress-client';
import { Router } from '../../src/delivery/routing/router';
import { FixedRouter } from '../../src/delivery/routing/create-router';
import { WorkerModule } from '../../src/worker.module';
import { contextOf, type Core, processOf, testConfig } from './core-context';

export interface WorkerOptions {
  readonly clock?: Clock;
  readonly env?: Record<string, string>;
  /** Port of the next hop for all mail, on 127.0.0.1. */
  readonly hopPort: number;
  /** Direct mode: this router instead of the next hop. */
  readonly router?: Router;
  /** True: the next hop stands for the recipients' own servers, so that a 250 means `delivered`. */
  readonly isFinalHop?: boolean;
  /** False: only the services; no background work runs. */
  readonly isRunning?: boolean;
  /** The way out over HTTPS, with authorities of the test's own. */
  readonly egressClient?: EgressClient;
}

/** The worker role of one process, in relay mode. It has a data directory of its own. */
export async function startWorker(url: string, options: WorkerOptions): Promise<Core> {
  const { router, clock = new DatabaseClock(), hopPort: port, isFinalHop: final = false, isRunning = true } = options;
  const dataDir = await mkdtemp(join(tmpdir(), 'waybill-worker-'));
  const config = testConfig({
    ...(router ? { DELIVERY_MODE: 'direct', MAIL_HOST: 'mail.example.org' } : { DELIVERY_MODE: 'relay' }),
    RELAY_URL: `smtp://127.0.0.1:${port}`,
    WAYBILL_DATA_DIR: dataDir,
    // No server replies there: the re-check of domains must not query the resolvers of the machine.
    DNS_SERVERS: '127.0.0.1:9',
    // So that a failed test ends.
    DRAIN_SECONDS: '5',
    ...options.env,
  });
  const parts = { config, databaseUrl: url, clock, applicationName: 'waybill-worker', runJobs: true };
  const builder = processOf({ ...parts, imports: [WorkerModule] })
    .overrideProvider(Router)
    .useValue(router ?? new FixedRouter(clock, { hostName: '127.0.0.1', port, final }));
  if (options.egressClient) builder.overrideProvider(EgressClient).useValue(options.egressClient);
  const module = await builder.compile();
  const { start, get, close } = await contextOf(module, isRunning);
  return {
    start,
    get,
    close: async () => {
      await close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
