import { getDomain } from 'tldts';
import type { RecordCheck, WantedRecord } from '../dns-record';
import { missing } from './check-results';
import type { DomainLookups } from './domain-lookups';
import { judgeDmarc } from './judge-dmarc';

/** The policy of the domain, else that of its organizational domain (RFC 7489 section 6.6.3). */
export async function checkDmarc(record: WantedRecord, domain: string, lookups: DomainLookups): Promise<RecordCheck> {
  const own = judgeDmarc(record.host, await lookups.txt(record.host));
  if (own) return own;
  const organizational = getDomain(domain, { allowPrivateDomains: true });
  const host = `_dmarc.${organizational ?? domain}`;
  if (host === record.host) return missing(`There is no DMARC record at ${host}`);
  const inherited = judgeDmarc(host, await lookups.txt(host));
  return inherited ?? missing(`There is no DMARC record at ${record.host} nor at ${host}`);
}
