import { isIP } from 'node:net';
import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { HOUR, MINUTE } from '../../common/clock';
import type { DnsAnswer, DnsResolver, IpAddress } from '../../common/dns/dns-resolver';
import { NodeDnsResolver, reverseName } from '../../common/dns/node-dns-resolver';
import { isPublicAddress } from '../../common/dns/public-address';
import { InstallationGauges } from '../../common/jobs/installation-gauges';
import { PeriodicJobs } from '../../common/jobs/periodic-jobs';
import { AppConfig } from '../../config/config';
import { EgressPools } from '../egress/egress-pools';
import { EgressAddressesRepository, type HeldListing, type Listing } from '../egress/egress-addresses.repository';

const MAX_REPLY = 500;
const MAX_ADDRESSES = 256;

/** The name to query in a list for an address (RFC 5782 section 2). */
export function listingName(address: string, list: string): string | undefined {
  const reversed = reverseName(address)?.replace(/\.(in-addr|ip6)\.arpa$/, '');
  return reversed === undefined ? undefined : `${reversed}.${list}`;
}

/** Queries every list for an address; a list that does not reply delays no other. */
export function lookUp(resolver: DnsResolver, address: string, lists: readonly string[]): Promise<Listing[]> {
  return Promise.all(lists.map((list) => lookUpIn(resolver, address, list)));
}

async function lookUpIn(resolver: DnsResolver, address: string, list: string): Promise<Listing> {
  const name = listingName(address, list);
  if (name === undefined) return { address, list, state: 'unknown', reply: 'no IP address' };
  const answer = await resolver.resolveAddresses(name);
  const { state, reply } = rate(answer);
  if (state !== 'listed') return { address, list, state, reply };
  const why = await resolver.resolveTxt(name);
  const said = why.kind === 'found' ? `${reply}: ${why.records.join(' ')}` : reply;
  return { address, list, state, reply: said.replace(/\p{Cc}/gu, ' ').slice(0, MAX_REPLY) };
}

/**
 * Lists return addresses of 127/8 (RFC 5782 section 2.1); those of 127.255.255/24 are errors, such as an unserved resolver or
 * too many queries. Addresses outside 127/8 are made up by a resolver.
 */
function rate(answer: DnsAnswer<IpAddress>): Pick<Listing, 'state' | 'reply'> {
  if (answer.kind === 'temporary') return { state: 'unknown', reply: `no answer (${answer.reason})` };
  if (answer.kind !== 'found') return { state: 'clear', reply: '' };
  const codes = answer.records.map(({ address }) => address).filter((address) => isIP(address) === 4);
  const reply = codes.join(', ');
  if (codes.some((code) => code.startsWith('127.255.255.'))) {
    return {
      state: 'unknown',
      reply: `${reply}: the list does not serve this resolver; set DNS_SERVERS to one of your own`,
    };
  }
  if (codes.length === 0 || codes.some((code) => !code.startsWith('127.'))) {
    return { state: 'unknown', reply: `${reply || 'no IPv4 answer'}: not the answer of a block list` };
  }
  return { state: 'listed', reply };
}

/**
 * The public addresses that mail leaves from: those of the pools and of the mail host.
 * @param known addresses found before: they stay while the name, or one family of it, does not resolve
 */
export async function ownAddresses(
  resolver: DnsResolver,
  mailHost: string,
  pooled: readonly string[],
  known: readonly string[] = [],
): Promise<readonly string[]> {
  const answer = await resolver.resolveAddresses(mailHost);
  const named = answer.kind === 'found' ? answer.records.map(({ address }) => address) : [];
  const isKnown = answer.kind === 'found' ? answer.failedFamily === undefined : answer.kind !== 'temporary';
  return [...new Set([...pooled, ...named, ...(isKnown ? [] : known)])].filter(isPublicAddress).slice(0, MAX_ADDRESSES);
}

/** Lists ask for no more queries than this; another worker may make the next check. */
const EVERY_MS = HOUR;
const LOOK_MS = 10 * MINUTE;

/** Checks the installation's addresses in block lists, once an hour, in one of the workers. */
@Injectable()
export class BlockListsJob implements OnApplicationBootstrap {
  private readonly logger = new Logger(BlockListsJob.name);
  private readonly resolver: DnsResolver;

  constructor(
    private readonly checks: EgressAddressesRepository,
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

  /** Does nothing when the last check is recent. */
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

  /** Results from before lists were switched off are outdated. */
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
