import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, MINUTE, SECOND } from '../../../common/clock';
import { NotFoundError } from '../../../common/errors/app-error';
import { PeriodicJobs } from '../../../common/jobs/periodic-jobs';
import { Metrics } from '../../../common/metrics/metrics';
import { AppConfig } from '../../../config/config';
import { DomainsRepository, type DueDomain } from '../registry/domains.repository';
import { DomainVerificationService } from './domain-verification.service';

const EVERY_MS = 10 * SECOND;
/** A run takes no more domains after this time, so that it ends within a stopping worker's patience. */
const TAKE_FOR_MS = 10 * SECOND;
const MAXIMUM_AT_ONCE = 10;
/** Far beyond the ten seconds of a check: a domain comes up again only when the worker that took it is gone. */
const LEASE_MS = 5 * MINUTE;

/**
 * Checks the records of every domain again whose time has come. Taking a domain moves its time ahead, which is the
 * worker's lease, so any number of processes may run this; the end of the check sets the real time. In local mode, where
 * mail goes nowhere, it needs `DNS_SERVERS`: a demonstration on a laptop queries no one by itself.
 */
@Injectable()
export class DomainRecheckJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(DomainRecheckJob.name);

  constructor(
    private readonly domains: DomainsRepository,
    private readonly verification: DomainVerificationService,
    private readonly jobs: PeriodicJobs,
    private readonly metrics: Metrics,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.roles.has('worker')) this.measure();
    const { mode, dnsServers } = this.config.delivery;
    if (mode === 'local' && dnsServers.length === 0) return;
    this.jobs.start({ name: 'recheck-domains', everyMs: EVERY_MS, run: () => this.run() });
  }

  /** Checks what is due, several domains at a time: a slow one takes up its own place and no other. */
  async run(): Promise<void> {
    const underWay = new Set<Promise<void>>();
    const endMs = this.clock.monotonicMs() + TAKE_FOR_MS;
    while (!this.jobs.ending.aborted && this.clock.monotonicMs() < endMs) {
      const taken = await this.take(MAXIMUM_AT_ONCE - underWay.size);
      for (const domain of taken) {
        const check = this.recheck(domain).finally(() => underWay.delete(check));
        underWay.add(check);
      }
      if (taken.length === 0) break;
      if (underWay.size === MAXIMUM_AT_ONCE) await Promise.race(underWay);
    }
    await Promise.all(underWay);
  }

  private take(limit: number): Promise<DueDomain[]> {
    const now = this.clock.now();
    return this.domains.takeDue(now, new Date(now.getTime() + LEASE_MS), limit);
  }

  private async recheck({ organizationId, id }: DueDomain): Promise<void> {
    try {
      await this.verification.recheck(organizationId, id);
    } catch (error) {
      if (error instanceof NotFoundError) return;
      this.logger.warn(`Domain ${id} could not be checked: ${(error as Error).message}`);
    }
  }

  private measure(): void {
    const options = { name: 'domains_due', help: 'Domains that wait for a look at their DNS records' };
    // A scrape is worth more without this one value than not at all while the database is away.
    this.metrics.gauge(options, async (gauge) =>
      gauge.set(await this.domains.countDue(this.clock.now()).catch(() => NaN)),
    );
  }
}
