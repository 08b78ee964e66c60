import type { DnsAnswer, DnsResolver } from '../../common/dns/dns-resolver';
import type { DeliveryConfig } from '../../config/config';
import { lookUp, ownAddresses } from '../../delivery/block-lists/block-lists.job';
import { readEgressPools } from '../../delivery/egress/pool-file';
import { type CheckStatus, type Finding, ok } from './checks';

/** What the DNS says of one address that mail is sent from. */
interface AddressNames {
  readonly address: string;
  readonly names: DnsAnswer<string>;
  /** Those of the names that lead back to the address. */
  readonly confirmed: readonly string[];
}

interface Rating {
  readonly status: CheckStatus;
  readonly message: string;
}

/**
 * Whether every address of the mail host has a name that leads back to it (forward-confirmed reverse DNS), as large
 * receivers demand, and whether that is the name in our EHLO.
 */
export async function checkReverseDns(resolver: DnsResolver, mailHost: string): Promise<Finding> {
  const answer = await resolver.resolveAddresses(mailHost);
  if (answer.kind !== 'found') return { status: 'problem', message: `MAIL_HOST ${mailHost} ${failureOf(answer)}` };
  const addresses = await Promise.all(answer.records.map(({ address }) => namesOf(resolver, address)));
  return rateReverseDns(addresses, mailHost);
}

function rateReverseDns(addresses: readonly AddressNames[], mailHost: string): Finding {
  const ratings = addresses.map((address) => rateAddress(address, mailHost));
  const details = { mailHost, addresses: addresses.map(({ address, confirmed }) => ({ address, confirmed })) };
  const worst =
    ratings.find(({ status }) => status === 'problem') ?? ratings.find(({ status }) => status === 'warning');
  if (!worst) return ok(`${addresses.map(({ address }) => address).join(', ')}: ${mailHost} and back`, details);
  const faults = ratings.filter(({ status }) => status !== 'ok').map(({ message }) => message);
  return { status: worst.status, message: faults.join('; '), details };
}

function rateAddress({ address, names, confirmed }: AddressNames, mailHost: string): Rating {
  if (names.kind !== 'found') return { status: 'problem', message: `${address} ${failureOf(names)}` };
  if (confirmed.length === 0) {
    return { status: 'problem', message: `${address} is named ${names.records.join(', ')}, which does not lead back` };
  }
  if (confirmed.includes(mailHost)) return { status: 'ok', message: '' };
  return { status: 'warning', message: `${address} is named ${confirmed.join(', ')}, not ${mailHost} as in our EHLO` };
}

async function namesOf(resolver: DnsResolver, address: string): Promise<AddressNames> {
  const names = await resolver.resolvePtr(address);
  if (names.kind !== 'found') return { address, names, confirmed: [] };
  const leadBack = await Promise.all(names.records.map((name) => leadsTo(resolver, name, address)));
  return { address, names, confirmed: names.records.filter((_name, index) => leadBack[index]) };
}

async function leadsTo(resolver: DnsResolver, name: string, address: string): Promise<boolean> {
  const answer = await resolver.resolveAddresses(name);
  return answer.kind === 'found' && answer.records.some((record) => record.address === address);
}

function failureOf(answer: Exclude<DnsAnswer<unknown>, { kind: 'found' }>): string {
  if (answer.kind === 'temporary') return `could not be looked up (${answer.reason}); nothing can be concluded`;
  return answer.kind === 'no-domain' ? 'does not exist in the DNS' : 'has no such record in the DNS';
}

/** Whether an address that mail leaves from is on a block list, now. */
export async function checkBlockLists(
  resolver: DnsResolver,
  { blockLists, egressPools, mailHost }: DeliveryConfig,
): Promise<Finding> {
  if (blockLists.length === 0) return { status: 'skipped', message: 'BLOCK_LISTS names none' };
  const pools = egressPools === undefined ? [] : readEgressPools(egressPools);
  const pooled = pools.flatMap((pool) => pool.addresses.map(({ address }) => address));
  const addresses = await ownAddresses(resolver, mailHost, pooled);
  if (addresses.length === 0) {
    return { status: 'skipped', message: 'no public address of MAIL_HOST or EGRESS_POOLS is known' };
  }
  const listings = (await Promise.all(addresses.map((address) => lookUp(resolver, address, blockLists)))).flat();
  const listed = listings.filter(({ state }) => state === 'listed');
  const unknown = listings.filter(({ state }) => state === 'unknown');
  const details = { addresses, listed, unknown };
  if (listed.length > 0) {
    const message = listed.map(({ address, list, reply }) => `${address} is on ${list} (${reply})`).join('; ');
    return { status: 'problem', message, details };
  }
  if (unknown.length > 0) {
    const message = unknown
      .map(({ address, list, reply }) => `${list} says nothing of ${address}: ${reply}`)
      .join('; ');
    return { status: 'warning', message, details };
  }
  return ok(`${addresses.join(', ')}: on none of ${blockLists.length} lists`, details);
}
