import type { RecordCheck, WantedRecord } from '../dns-record';
import { followAlias, judgeTrail } from './check-alias';
import { missing, wrong } from './check-results';
import type { DomainLookups } from './domain-lookups';
import { judgeDkim } from './judge-dkim';

/**
 * A DKIM record that is a CNAME into the delegated zone. Once there is a key under its selector, the key itself must be
 * seen through it, as verifiers will; a provider that answers with the TXT instead of the CNAME ("flattening") is then
 * as good.
 * @param publicKey undefined while nothing is published under the selector
 */
export async function checkDelegatedKey(
  record: WantedRecord,
  publicKey: string | undefined,
  lookups: DomainLookups,
): Promise<RecordCheck> {
  const trail = await followAlias(record, lookups);
  if (publicKey === undefined || (trail.kind !== 'reached' && trail.kind !== 'none')) return judgeTrail(record, trail);
  const key = judgeDkim(record.host, publicKey, await lookups.txt(record.host));
  if (trail.kind === 'reached') return key.result === 'missing' ? missing(notPublished(record)) : key;
  if (key.result !== 'wrong') return key.result === 'missing' ? judgeTrail(record, trail) : key;
  return wrong(`There is no CNAME record at ${record.host}, and its TXT record is not the key of this domain`);
}

function notPublished({ host, value }: WantedRecord): string {
  return `The CNAME at ${host} is right, but ${value} does not answer with the key yet`;
}
