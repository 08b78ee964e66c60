import type { RecordCheck, WantedRecord } from '../registry/wanted-records';
import { type DnsLookups, missing, shown, unreachable, VERIFIED, wrong } from './dns-lookups';

const MAXIMUM_HOPS = 8;

/** Where a chain of CNAMEs leads. `none`: the host has no CNAME, be it that it does not exist. */
export type AliasTrail =
  | { readonly kind: 'reached' | 'none' }
  | { readonly kind: 'elsewhere'; readonly end: string }
  | { readonly kind: 'endless' }
  | { readonly kind: 'temporary'; readonly reason: string };

/** Follows the CNAMEs of a host until the wanted target comes up. */
export async function followAlias({ host, value }: WantedRecord, lookups: DnsLookups): Promise<AliasTrail> {
  const seen = new Set([host]);
  let name = host;
  while (seen.size <= MAXIMUM_HOPS) {
    const answer = await lookups.cname(name);
    if (answer.kind === 'temporary') return answer;
    const [target] = answer.kind === 'found' ? answer.records : [];
    if (target === undefined) return name === host ? { kind: 'none' } : { kind: 'elsewhere', end: name };
    if (target === value.toLowerCase()) return { kind: 'reached' };
    if (seen.has(target)) return { kind: 'endless' };
    seen.add(target);
    name = target;
  }
  return { kind: 'endless' };
}

/** A record that must be a CNAME of the wanted target, directly or through others. */
export async function checkAlias(record: WantedRecord, lookups: DnsLookups): Promise<RecordCheck> {
  const trail = await followAlias(record, lookups);
  return trail.kind === 'none' ? checkFlattened(record, lookups) : evaluateTrail(record, trail);
}

export function evaluateTrail({ host, value }: WantedRecord, trail: AliasTrail): RecordCheck {
  switch (trail.kind) {
    case 'reached':
      return VERIFIED;
    case 'none':
      return missing(`There is no CNAME record at ${host}`);
    case 'elsewhere':
      return wrong(`The CNAME at ${host} leads to ${shown(trail.end)}; it must lead to ${value}`);
    case 'endless':
      return wrong(`The CNAME at ${host} leads in a circle or through more than ${MAXIMUM_HOPS} others`);
    case 'temporary':
      return unreachable(host, trail.reason);
  }
}

/** Addresses instead of a CNAME: a copy that ages, made by hand or by a provider that "flattens" or proxies aliases. */
async function checkFlattened(record: WantedRecord, lookups: DnsLookups): Promise<RecordCheck> {
  const { host, value } = record;
  const addresses = await lookups.addresses(host);
  if (addresses.kind === 'temporary') return unreachable(host, addresses.reason);
  if (addresses.kind !== 'found') return evaluateTrail(record, { kind: 'none' });
  return wrong(
    `${host} has addresses instead of a CNAME to ${value}; if the DNS provider flattens or proxies the record, switch that off for it`,
  );
}
