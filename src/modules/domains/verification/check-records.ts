import { getDomain } from 'tldts';
import type { DnsAnswer, DnsResolver } from '../../../common/dns/dns-resolver';
import type { DkimKey } from '../dkim/dkim-key.entity';
import type { RecordCheck, WantedRecord } from '../registry/wanted-records';
import { checkAlias, checkDelegatedKey, evaluateDkim } from './check-dkim';
import { checkSpf } from './check-spf';
import {
  DnsLookups,
  evaluateOwnership,
  firstTag,
  missing,
  parseTagList,
  shown,
  unreachable,
  VERIFIED,
  wrong,
} from './dns-lookups';
import { parseSpf } from './parse-spf';

type PublishedKey = Pick<DkimKey, 'selector' | 'publicKey'>;

/**
 * Compares the records that a domain should have with DNS: one check per record, in their order, within ten seconds and
 * forty lookups. Never throws for results of DNS.
 * @param keys with a delegated zone, the keys that must be found through the aliases of their selectors
 */
export function checkRecords(
  resolver: DnsResolver,
  records: readonly WantedRecord[],
  domain: string,
  keys: readonly PublishedKey[] = [],
  lookups: DnsLookups = new DnsLookups(resolver),
): Promise<RecordCheck[]> {
  return Promise.all(records.map((record) => checkRecord(record, domain, keys, lookups)));
}

async function checkRecord(
  record: WantedRecord,
  domain: string,
  keys: readonly PublishedKey[],
  lookups: DnsLookups,
): Promise<RecordCheck> {
  switch (record.purpose) {
    case 'verification':
      return evaluateOwnership(record, await lookups.txt(record.host));
    case 'dkim':
      if (record.type === 'CNAME') return checkDelegatedKey(record, keyAt(record.host, keys), lookups);
      return evaluateDkim(record.host, parseTagList(record.value)?.get('p') ?? '', await lookups.txt(record.host));
    case 'spf':
      return checkSpf(domain, includeOf(record), (name) => lookups.txt(name));
    case 'dmarc':
      return checkDmarc(record, domain, lookups);
    case 'return_path':
    case 'tracking':
      return checkAlias(record, lookups);
    case 'inbound':
      return checkInboundMx(record, lookups);
  }
}

function keyAt(host: string, keys: readonly PublishedKey[]): string | undefined {
  return keys.find((key) => host.startsWith(`${key.selector}.`))?.publicKey;
}

function includeOf({ value }: WantedRecord): string {
  const parsed = parseSpf(value);
  return (parsed.ok && parsed.record.find((term) => term.name === 'include')?.value) || '';
}

/** One of the host's MX records must name this service; their order is the owner's choice. */
async function checkInboundMx({ host, value }: WantedRecord, lookups: DnsLookups): Promise<RecordCheck> {
  const answer = await lookups.mx(host);
  switch (answer.kind) {
    case 'found': {
      const exchanges = answer.records.map(({ exchange }) => exchange);
      if (exchanges.includes(value.toLowerCase())) return VERIFIED;
      return wrong(
        `The MX records at ${host} name ${exchanges.slice(0, 5).map(shown).join(', ')}; one must name ${value}`,
      );
    }
    case 'no-data':
    case 'no-domain':
      return missing(`There is no MX record at ${host}: mail to its inbound routes does not come here`);
    case 'temporary':
      return unreachable(host, answer.reason);
  }
}

const POLICIES: readonly (string | undefined)[] = ['none', 'quarantine', 'reject'];

/** Checks the policy of the domain, else that of its organizational domain (RFC 7489 section 6.6.3). */
export async function checkDmarc(record: WantedRecord, domain: string, lookups: DnsLookups): Promise<RecordCheck> {
  const own = evaluateDmarc(record.host, await lookups.txt(record.host));
  if (own) return own;
  const organizational = getDomain(domain, { allowPrivateDomains: true });
  const host = `_dmarc.${organizational ?? domain}`;
  if (host === record.host) return missing(`There is no DMARC record at ${host}`);
  const inherited = evaluateDmarc(host, await lookups.txt(host));
  return inherited ?? missing(`There is no DMARC record at ${record.host} nor at ${host}`);
}

/**
 * Checks the DMARC record at one name (RFC 7489 section 6.3): any valid policy passes. Undefined: no policy
 * is published there.
 */
export function evaluateDmarc(host: string, answer: DnsAnswer<string>): RecordCheck | undefined {
  if (answer.kind === 'temporary') return unreachable(host, answer.reason);
  if (answer.kind !== 'found') return undefined;
  // Other texts are ignored (RFC 7489 section 6.6.3).
  const [text, ...others] = answer.records.filter((record) => /^\s*v\s*=\s*DMARC1\s*(;|$)/i.test(record));
  if (text === undefined) return undefined;
  if (others.length > 0) return wrong(`There is more than one DMARC record at ${host}, so that none applies`);
  const problem = problemOf(text);
  return problem === undefined ? VERIFIED : wrong(`The DMARC record at ${host} ${problem}`);
}

function problemOf(text: string): string | undefined {
  const tags = parseTagList(text);
  if (tags === undefined) return 'is not a list of tags like "v=DMARC1; p=none"';
  if (firstTag(tags) !== 'v' || tags.get('v') !== 'DMARC1') return 'must begin with v=DMARC1';
  if (!tags.has('p')) return 'has no p= tag';
  return POLICIES.includes(tags.get('p')?.toLowerCase()) ? undefined : 'must have p=none, p=quarantine or p=reject';
}
