import { getDomain } from 'tldts';
import type { DnsAnswer } from '../../../common/dns/dns-resolver';
import type { RecordCheck, WantedRecord } from '../registry/wanted-records';
import type { DnsLookups } from './dns-lookups';
import { firstTag, missing, parseTagList, unreachable, VERIFIED, wrong } from './txt-records';

const POLICIES: readonly (string | undefined)[] = ['none', 'quarantine', 'reject'];

/** The policy of the domain, else that of its organizational domain (RFC 7489 section 6.6.3). */
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
 * The DMARC policy at one name (RFC 7489 section 6.3): any valid one counts, whatever its policy. Undefined: no policy
 * is published there.
 */
export function evaluateDmarc(host: string, answer: DnsAnswer<string>): RecordCheck | undefined {
  if (answer.kind === 'temporary') return unreachable(host, answer.reason);
  if (answer.kind !== 'found') return undefined;
  // Other texts are to be ignored (RFC 7489 section 6.6.3).
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
