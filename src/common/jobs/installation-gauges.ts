import { Inject, Injectable, type OnModuleDestroy } from '@nestjs/common';
import { within } from '../async/promises';
import { Clock, MINUTE, SECOND } from '../clock';
import { Metrics, type Reading } from '../metrics/metrics';
import { JobLeases, RUNS_JOBS } from './periodic-jobs';

const LEASE_SECONDS = 15;
const RENEW_MS = 5 * SECOND;
/** A process that has not been scraped for so long gives up, so that one that is scraped can show the figures. */
const FORGOTTEN_MS = 5 * MINUTE;
/** A database that hangs must not cost the scrape the other metrics. */
const TIMEOUT_MS = 2 * SECOND;

export interface InstallationGauge {
  readonly name: string;
  readonly help: string;
  /** At most one. */
  readonly label?: string;
}

/**
 * Gauges that describe the whole installation, such as the depth of the queue. One process at a time shows them, so that
 * `sum()` over all processes is right; the others have no such series. What cannot be read is absent.
 */
@Injectable()
export class InstallationGauges implements OnModuleDestroy {
  private readonly everywhere: Election;
  private readonly workers: Election;

  constructor(
    leases: JobLeases,
    private readonly metrics: Metrics,
    clock: Clock,
    @Inject(RUNS_JOBS) private readonly runsJobs: boolean,
  ) {
    this.everywhere = new Election('installation-gauges', leases, clock);
    this.workers = new Election('worker-gauges', leases, clock);
  }

  /** Available in processes of every role, any of which may show it: no worker needs to run. */
  show(gauge: InstallationGauge, read: () => Reading | Promise<Reading>): void {
    this.add(gauge, this.everywhere, read);
  }

  /** Available in workers; one of these shows it. */
  showOfWorkers(gauge: InstallationGauge, read: () => Reading | Promise<Reading>): void {
    if (this.runsJobs) this.add(gauge, this.workers, read);
  }

  async onModuleDestroy(): Promise<void> {
    await Promise.all([this.everywhere.end(), this.workers.end()]);
  }

  private add(
    { name, help, label }: InstallationGauge,
    election: Election,
    read: () => Reading | Promise<Reading>,
  ): void {
    const labels = label === undefined ? [] : [label];
    this.metrics.gauge({ name, help, labels }, async () => {
      return (await election.isWon()) ? within(Promise.resolve(read()), TIMEOUT_MS) : undefined;
    });
  }
}

/**
 * One lease among processes:
 *
 *   out ──first scrape──► asks every 5 s ──the lease is free──► holds it ──not renewed for 15 s──► asks
 *    ▲──────── not scraped for 5 min, or ended: gives it back ─────┘
 */
class Election {
  private heldUntilMs = -Infinity;
  private scrapedMs = -Infinity;
  private askedMs = -Infinity;
  private asking: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isOver = false;

  constructor(
    private readonly name: string,
    private readonly leases: JobLeases,
    private readonly clock: Clock,
  ) {}

  /** Called at each scrape, several times at once. */
  async isWon(): Promise<boolean> {
    if (this.isOver) return false;
    this.scrapedMs = this.clock.monotonicMs();
    this.timer ??= setInterval(() => void this.renew(), RENEW_MS).unref();
    // The first time, and when a timer has been held up.
    if (this.scrapedMs - this.askedMs > 2 * RENEW_MS) this.asking = this.ask();
    await this.asking;
    return this.clock.monotonicMs() < this.heldUntilMs;
  }

  async end(): Promise<void> {
    this.isOver = true;
    await this.standDown();
  }

  private async renew(): Promise<void> {
    if (this.clock.monotonicMs() - this.scrapedMs > FORGOTTEN_MS) await this.standDown();
    else await this.ask();
  }

  private async standDown(): Promise<void> {
    clearInterval(this.timer);
    this.timer = undefined;
    await this.asking;
    const isHeld = this.heldUntilMs > this.clock.monotonicMs();
    this.heldUntilMs = -Infinity;
    this.askedMs = -Infinity;
    // It expires by itself when the database is away.
    if (isHeld) await within(this.leases.release(this.name), TIMEOUT_MS).catch(() => undefined);
  }

  /** Never rejects; without a reply a lease that is held ends at its time. */
  private async ask(): Promise<void> {
    const startedMs = this.clock.monotonicMs();
    this.askedMs = startedMs;
    const isTaken = await within(this.leases.take(this.name, LEASE_SECONDS), TIMEOUT_MS).catch(() => undefined);
    if (isTaken !== undefined) this.heldUntilMs = isTaken ? startedMs + LEASE_SECONDS * SECOND : -Infinity;
  }
}
