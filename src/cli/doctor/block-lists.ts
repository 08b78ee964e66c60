import type { DnsResolver } from '../../common/dns/dns-resolver';
import type { DeliveryConfig } from '../../config/config';
import { lookUp, ownAddresses } from '../../delivery/block-lists/block-lists';
import { readEgressPools } from '../../delivery/egress/pool-file';
import { type Finding, ok } from './checks';

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
