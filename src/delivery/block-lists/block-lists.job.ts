import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { HOUR, MINUTE } from '../../common/clock';
import type { DnsResolver } from '../../common/dns/dns-resolver';
import { NodeDnsResolver } from '../../common/dns/node-dns-resolver';
import { InstallationGauges } from '../../common/jobs/installation-gauges';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { AppConfig } from '../../config/config';
import { EgressPools } from '../egress/egress-pools';
import { DestinationsRepository, type HeldListing, type Listing } from '../shaping/destinations.repository';
import { lookUp, ownAddresses } from './block-lists';

/** Lists ask not to be asked more often than that; another worker may be the next to do it. */
const EVERY_MS = HOUR;
const LOOK_MS = 10 * MINUTE;

/** Once an hour, in one of the workers, looks the installation's addresses up in block lists. */
@Injectable()
export class BlockListsJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(BlockListsJob.name);
  private readonly resolver: DnsResolver;

  constructor(
    private readonly checks: DestinationsRepository,
    private readonly egress: EgressPools,
    private readonly jobs: PeriodicJobs,
    private readonly gauges: InstallationGauges,
    private readonly config: AppConfig,
  ) {
    this.resolver = new NodeDnsResolver({ servers: config.delivery.dnsServers });
  }

  onApplicationBootstrap(): void {
    this.registerMetrics();
    if (this.config.delivery.blockLists.length === 0) return;
    this.jobs.start({ name: 'check-block-lists', everyMs: LOOK_MS, exclusive: true, run: (going) => this.run(going) });
  }

  registerMetrics(): void {
    const listed = { name: 'block_lists_listed', help: 'Block lists that an address of ours is on', label: 'address' };
    this.gauges.showOfWorkers(listed, async () => countBy(await this.found(), 'address', 'listed'));
    const unanswered = { name: 'block_lists_unknown', help: 'Addresses of which a list says nothing', label: 'list' };
    this.gauges.showOfWorkers(unanswered, async () => countBy(await this.found(), 'list', 'unknown'));
  }

  /** Does nothing while the last look is recent. */
  async run(going = this.jobs.ending): Promise<void> {
    const age = await this.checks.newestListingAgeMs();
    if (age !== undefined && age < EVERY_MS) return;
    const { mailHost, blockLists } = this.config.delivery;
    const pooled = this.egress.pools.flatMap((pool) => pool.addresses.map(({ address }) => address));
    const known = (await this.checks.listListings()).map(({ address }) => address);
    const found: Listing[] = [];
    for (const address of await ownAddresses(this.resolver, mailHost, pooled, known)) {
      if (going.aborted) return;
      found.push(...(await lookUp(this.resolver, address, blockLists)));
    }
    await this.checks.replaceListings(found);
    for (const { address, list, reply, state } of await this.checks.listListings()) {
      if (state === 'listed') this.logger.warn(`${address} is on the block list ${list}: ${reply}`);
    }
  }

  /** What was found before lists were switched off says nothing of now. */
  private async found(): Promise<readonly HeldListing[]> {
    return this.config.delivery.blockLists.length === 0 ? [] : this.checks.listListings();
  }
}

/** Zeros included, so that an alert can end. */
function countBy(
  checks: readonly HeldListing[],
  label: 'address' | 'list',
  state: HeldListing['state'],
): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const check of checks) counts[check[label]] = (counts[check[label]] ?? 0) + (check.state === state ? 1 : 0);
  return counts;
}
