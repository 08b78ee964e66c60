import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import { atMost } from '../../common/bounded-cache';
import { Clock, DAY, HOUR, MINUTE, SECOND } from '../../common/clock';
import { DnsResolver } from '../../common/dns/dns-resolver';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { AppConfig } from '../../config/config';
import { TlsRepository, type SessionCount } from './tls.repository';
import { MtaStsPolicies } from './mta-sts.service';
import { readReportTargets } from './tls-report-data.service';
import { TlsSessionCounts } from './tls-session-counts';

/** Domains in one run; the next run continues with the next ones. */
const MAX_DOMAINS = 500;
const FETCHES_AT_ONCE = 10;

/** Fetches policies again before they expire (RFC 8461 section 3.3), while mail uses them; removes the others. */
@Injectable()
export class RefreshMtaStsJob implements OnApplicationBootstrap {
  constructor(
    private readonly policies: MtaStsPolicies,
    private readonly rows: TlsRepository,
    private readonly jobs: PeriodicJobs,
  ) {}

  onApplicationBootstrap(): void {
    this.jobs.start({
      name: 'refresh-mta-sts',
      everyMs: 10 * MINUTE,
      exclusive: true,
      run: (going) => this.run(going),
    });
    this.jobs.startRemoval({
      name: 'forget-mta-sts',
      everyMs: 6 * HOUR,
      run: () => this.rows.removePolicies(),
    });
  }

  async run(going = this.jobs.ending): Promise<void> {
    const limit = pLimit(FETCHES_AT_ONCE);
    const due = await this.rows.duePolicies(MAX_DOMAINS);
    await Promise.all(due.map((domain) => limit(() => this.refresh(domain, going))));
  }

  private async refresh(domain: string, going: AbortSignal): Promise<void> {
    if (going.aborted) return;
    await this.jobs.attempt(`The policy of ${domain}`, () => this.policies.refresh(domain));
  }
}

const EVERY_MS = 30 * SECOND;
const LOOKUPS_AT_ONCE = 20;
const MAX_REMEMBERED = 50_000;
/** Interval of checking whether a domain wants reports. */
const LIFE_MS = HOUR;
/** How long a run begins look-ups. Names are their owners': 50,000 of which none is answered would keep all counts for hours. */
const LOOKING_MS = 20 * SECOND;
/** Their replies, of any length, cost this share of the look-ups alone. */
const HOLDER = 'tls-reports';

/** Stores the connections to domains that want reports, outside of the delivery of mail. */
@Injectable()
export class CountTlsSessionsJob implements OnApplicationBootstrap {
  private readonly wanted: LRUCache<string, boolean>;
  /** Of domains that the last run did not come to. */
  private left: SessionCount[] = [];

  constructor(
    private readonly counts: TlsSessionCounts,
    private readonly rows: TlsRepository,
    private readonly resolver: DnsResolver,
    private readonly config: AppConfig,
    private readonly jobs: PeriodicJobs,
    private readonly clock: Clock,
  ) {
    const perf = { now: () => clock.monotonicMs() };
    this.wanted = new LRUCache({ ...atMost(MAX_REMEMBERED), ttl: LIFE_MS, ttlResolution: 0, perf });
  }

  onApplicationBootstrap(): void {
    if (this.config.tlsReports === undefined) return;
    this.jobs.start({ name: 'count-tls-sessions', everyMs: EVERY_MS, run: () => this.run() });
    this.jobs.startRemoval({
      name: 'forget-tls-sessions',
      everyMs: DAY,
      run: () => this.rows.removeOldTlsSessions(),
    });
  }

  /** What cannot be written down now is counted with the next. */
  async run(): Promise<void> {
    const taken = this.takeAll();
    const limit = pLimit(LOOKUPS_AT_ONCE);
    const untilMs = this.clock.monotonicMs() + LOOKING_MS;
    const domains = [...new Set(taken.map(({ domain }) => domain))];
    const asked = domains.map((domain) => limit(async () => [domain, await this.isWanted(domain, untilMs)] as const));
    const wants = new Map(await Promise.all(asked));
    this.left = taken.filter(({ domain }) => wants.get(domain) === undefined);
    const kept = taken.filter(({ domain }) => wants.get(domain));
    try {
      await this.rows.addTlsSessions(kept);
    } catch (error) {
      for (const count of kept) this.counts.add(count);
      throw error;
    }
  }

  /** What was left comes first: each domain has its turn, however many follow. */
  private takeAll(): SessionCount[] {
    const latest = this.counts.take();
    for (const count of [...this.left, ...latest]) this.counts.add(count);
    return this.counts.take();
  }

  /** Undefined where no time is left to look it up. */
  private async isWanted(domain: string, untilMs: number): Promise<boolean | undefined> {
    const known = this.wanted.get(domain);
    if (known !== undefined) return known;
    if (this.clock.monotonicMs() >= untilMs) return undefined;
    const answer = await this.resolver.resolveTxt(`_smtp._tls.${domain}`, { holder: HOLDER });
    const isWanted = answer.kind === 'found' && readReportTargets(answer.records) !== undefined;
    if (answer.kind !== 'temporary') this.wanted.set(domain, isWanted);
    return isWanted;
  }
}
