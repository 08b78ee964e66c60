import type { DnsAnswer } from '../../../common/dns/dns-resolver';
import type { RecordCheck, WantedRecord } from '../registry/wanted-records';
import {
  type DnsLookups,
  firstTag,
  missing,
  parseTagList,
  shown,
  textsAt,
  unreachable,
  VERIFIED,
  wrong,
} from './dns-lookups';

const MAXIMUM_HOPS = 8;

/** Where a chain of CNAMEs leads. `none`: the host has no CNAME, or does not exist. */
export type AliasTrail =
  | { readonly kind: 'reached' | 'none' }
  | { readonly kind: 'elsewhere'; readonly end: string }
  | { readonly kind: 'endless' }
  | { readonly kind: 'temporary'; readonly reason: string };

/** Follows the CNAMEs of a host until the wanted target is found. */
async function followAlias({ host, value }: WantedRecord, lookups: DnsLookups): Promise<AliasTrail> {
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

/** Checks a record that must be a CNAME of the wanted target, directly or through others. */
export async function checkAlias(record: WantedRecord, lookups: DnsLookups): Promise<RecordCheck> {
  const trail = await followAlias(record, lookups);
  return trail.kind === 'none' ? checkFlattened(record, lookups) : evaluateTrail(record, trail);
}

function evaluateTrail({ host, value }: WantedRecord, trail: AliasTrail): RecordCheck {
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

/**
 * Checks for addresses instead of a CNAME: a copy that becomes outdated, made manually or by a provider that "flattens" or proxies aliases.
 */
async function checkFlattened(record: WantedRecord, lookups: DnsLookups): Promise<RecordCheck> {
  const { host, value } = record;
  const addresses = await lookups.addresses(host);
  if (addresses.kind === 'temporary') return unreachable(host, addresses.reason);
  if (addresses.kind !== 'found') return evaluateTrail(record, { kind: 'none' });
  return wrong(
    `${host} has addresses instead of a CNAME to ${value}; if the DNS provider flattens or proxies the record, switch that off for it`,
  );
}

type Tags = ReadonlyMap<string, string>;

/**
 * Checks a key record by the rules that a verifier applies (RFC 6376 section 3.6.1).
 * @param publicKey base64, as in `p=`
 */
export function evaluateDkim(host: string, publicKey: string, answer: DnsAnswer<string>): RecordCheck {
  const records = textsAt(host, answer);
  if ('result' in records) return records;
  const [text, ...others] = records.filter(isKeyRecord);
  if (text === undefined) {
    return wrong(`The TXT record at ${host} is no DKIM key record: ${shown(records[0] ?? '')}`);
  }
  if (others.length > 0) {
    return wrong(`There is more than one DKIM record at ${host}; verifiers may take any of them`);
  }
  const problem = problemOf(parseTagList(text), publicKey);
  return problem === undefined ? VERIFIED : wrong(`The DKIM record at ${host} ${problem}`);
}

/**
 * Checks a DKIM record that is a CNAME into the delegated zone. Once there is a key under its selector, the key itself must be
 * found through it, as verifiers do; a provider that returns the TXT record instead of the CNAME ("flattening") is then
 * acceptable.
 * @param publicKey undefined while nothing is published under the selector
 */
export async function checkDelegatedKey(
  record: WantedRecord,
  publicKey: string | undefined,
  lookups: DnsLookups,
): Promise<RecordCheck> {
  const trail = await followAlias(record, lookups);
  if (publicKey === undefined || (trail.kind !== 'reached' && trail.kind !== 'none')) {
    return evaluateTrail(record, trail);
  }
  const key = evaluateDkim(record.host, publicKey, await lookups.txt(record.host));
  if (trail.kind === 'reached') return key.result === 'missing' ? missing(notPublished(record)) : key;
  if (key.result !== 'wrong') return key.result === 'missing' ? evaluateTrail(record, trail) : key;
  return wrong(`There is no CNAME record at ${record.host}, and its TXT record is not the key of this domain`);
}

function notPublished({ host, value }: WantedRecord): string {
  return `The CNAME at ${host} is right, but ${value} does not answer with the key yet`;
}

/** Whether a text is meant as a key record, valid or not. */
function isKeyRecord(text: string): boolean {
  return /^"?\s*v\s*=\s*DKIM1/i.test(text) || parseTagList(text)?.has('p') === true;
}

/** The problem of a key record as the end of a sentence; undefined when there is none. */
function problemOf(tags: Tags | undefined, publicKey: string): string | undefined {
  if (tags === undefined) return 'is not a list of tags like "v=DKIM1; k=rsa; p=…"';
  return problemOfKey(tags.get('p'), publicKey) ?? problemOfUse(tags);
}

function problemOfKey(value: string | undefined, publicKey: string): string | undefined {
  const key = value?.replace(/\s/g, '');
  if (key === undefined) return 'has no p= tag';
  if (key === '') return 'is revoked: its p= tag is empty';
  if (key === publicKey) return undefined;
  if (publicKey.startsWith(key)) {
    return `is cut off: the key ends after ${key.length} of ${publicKey.length} characters`;
  }
  return 'has another key than this domain signs with';
}

/** Tags that exclude the use of a correct key for mail signed with rsa-sha256. */
function problemOfUse(tags: Tags): string | undefined {
  if (tags.has('v') && (firstTag(tags) !== 'v' || tags.get('v') !== 'DKIM1')) return 'must begin with v=DKIM1';
  if ((tags.get('k') ?? 'rsa').toLowerCase() !== 'rsa') return 'must have k=rsa';
  if (!allows(tags.get('h'), 'sha256')) return 'must allow sha256 in its h= tag';
  if (!allows(tags.get('s'), 'email', '*')) return 'must allow email in its s= tag';
  return undefined;
}

/** Whether a colon-separated list allows one of the names; an absent list allows everything. */
function allows(list: string | undefined, ...names: string[]): boolean {
  return list === undefined || list.split(':').some((item) => names.includes(item.trim().toLowerCase()));
}
