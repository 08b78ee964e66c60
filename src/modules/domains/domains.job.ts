import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock, HOUR, MINUTE, SECOND } from '../../common/clock';
import { NotFoundError, reasonOf } from '../../common/errors/app-error';
import { NIL_ID } from '../../common/ids';
import { deleteInBatches, PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { InstallationGauges } from '../../common/jobs/installation-gauges';
import { AppConfig } from '../../config/config';
import { DmarcReportsService, TlsReportsService } from './aggregate-reports/aggregate-reports.service';
import { DkimKeysService } from './dkim/dkim-keys.service';
import { DomainsRepository, type DueDomain } from './registry/domains.repository';
import { DomainVerificationService } from './verification/domain-verification.service';

const EVERY_MS = 10 * SECOND;
/** A run takes no more domains after this time, so that it ends within the drain time of a stopping worker. */
const TAKE_FOR_MS = 10 * SECOND;
const MAXIMUM_AT_ONCE = 10;
/** Much longer than the ten seconds of a check: another worker takes a domain only after a crash. */
const LEASE_MS = 5 * MINUTE;

/**
 * Repeats the DNS checks of domains when they are due, round robin over the organizations. Taking a domain moves its due time
 * ahead, which is the worker's lease, so any number of processes may run this; the end of the check sets the real time. In local
 * mode it needs `DNS_SERVERS`: a demonstration on a laptop sends no queries by itself.
 */
@Injectable()
export class DomainRecheckJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(DomainRecheckJob.name);
  /** The organization that had the last turn. */
  private last = NIL_ID;

  constructor(
    private readonly domains: DomainsRepository,
    private readonly verification: DomainVerificationService,
    private readonly jobs: PeriodicJobs,
    private readonly gauges: InstallationGauges,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {}

  onApplicationBootstrap(): void {
    this.measure();
    const { mode, dnsServers } = this.config.delivery;
    if (mode === 'local' && dnsServers.length === 0) return;
    this.jobs.start({ name: 'recheck-domains', everyMs: EVERY_MS, run: () => this.run() });
  }

  /**
   * Checks due domains, several at a time: a slow one occupies one place only, and a free place goes to the next
   * organization.
   */
  async run(): Promise<void> {
    const underWay = new Set<Promise<void>>();
    const endMs = this.clock.monotonicMs() + TAKE_FOR_MS;
    const turns = await this.turns();
    while (turns.length > 0 && !this.jobs.ending.aborted && this.clock.monotonicMs() < endMs) {
      for (const domain of await this.take(turns, MAXIMUM_AT_ONCE - underWay.size)) {
        const check = this.recheck(domain).finally(() => underWay.delete(check));
        underWay.add(check);
      }
      if (underWay.size === MAXIMUM_AT_ONCE) await Promise.race(underWay);
    }
    await Promise.all(underWay);
  }

  /** Organizations with due domains, beginning after the last one that had a turn. */
  private async turns(): Promise<string[]> {
    const owners = await this.domains.dueOwners(this.clock.now());
    return [...owners.filter((id) => id > this.last), ...owners.filter((id) => id <= this.last)];
  }

  /** Takes the same number from each of the next organizations and moves these to the end of the queue. */
  private async take(turns: string[], limit: number): Promise<DueDomain[]> {
    const next = turns.splice(0, limit);
    const now = this.clock.now();
    const until = new Date(now.getTime() + LEASE_MS);
    const limitEach = Math.ceil(limit / next.length);
    const taken = await this.domains.takeDue({ now, until, limit, limitEach }, next);
    const served = new Set(taken.map(({ organizationId }) => organizationId));
    turns.push(...next.filter((id) => served.has(id)));
    this.last = next.at(-1) ?? this.last;
    return taken;
  }

  private async recheck({ organizationId, id }: DueDomain): Promise<void> {
    try {
      await this.verification.recheck(organizationId, id);
    } catch (error) {
      if (error instanceof NotFoundError) return;
      this.logger.warn(`Domain ${id} could not be checked: ${reasonOf(error)}`);
    }
  }

  private measure(): void {
    const gauge = { name: 'domains_due', help: 'Domains whose DNS check is due' };
    this.gauges.showOfWorkers(gauge, () => this.domains.countDue(this.clock.now()));
  }
}

/** Thirteen months, like emails. */
const KEPT_DAYS = 400;
const BATCH = 5_000;

/** Deletes old reports about domains, DMARC and TLS. */
@Injectable()
export class ClearReportsJob implements OnApplicationBootstrap {
  constructor(
    private readonly dmarc: DmarcReportsService,
    private readonly tls: TlsReportsService,
    private readonly jobs: PeriodicJobs,
  ) {}

  onApplicationBootstrap(): void {
    this.clear('clear-dmarc-reports', (limit) => this.dmarc.deleteOld(KEPT_DAYS, limit));
    this.clear('clear-tls-reports', (limit) => this.tls.deleteOld(KEPT_DAYS, limit));
  }

  private clear(name: string, remove: (limit: number) => Promise<number>): void {
    this.jobs.startRemoval({ name, everyMs: HOUR, run: () => deleteInBatches(BATCH, remove) });
  }
}

/** Deletes retired DKIM keys that no longer need to be published. */
@Injectable()
export class ExpiredDkimKeysJob implements OnApplicationBootstrap {
  constructor(
    private readonly keys: DkimKeysService,
    private readonly jobs: PeriodicJobs,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({
      name: 'remove-expired-dkim-keys',
      exclusive: true,
      everyMs: 10 * MINUTE,
      run: () => this.keys.removeExpired(),
    });
  }
}
