import type { DnsResolver } from '../../../common/dns/dns-resolver';
import type { DkimKey } from '../dkim/dkim-key.entity';
import type { RecordCheck, WantedRecord } from '../registry/wanted-records';
import { checkAlias } from './check-alias';
import { checkDelegatedKey, evaluateDkim } from './check-dkim';
import { checkDmarc } from './check-dmarc';
import { checkSpf } from './check-spf';
import { DnsLookups } from './dns-lookups';
import { parseSpf } from './parse-spf';
import { evaluateOwnership, missing, parseTagList, shown, unreachable, VERIFIED, wrong } from './txt-records';

type PublishedKey = Pick<DkimKey, 'selector' | 'publicKey'>;

/**
 * Compares the records that a domain should have with live DNS: one check per record, in their order, within ten seconds
 * and forty look-ups. Never throws for what the DNS says.
 * @param keys with a delegated zone, the keys that must be seen through the aliases of their selectors
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

/** The host's mail must come to us by one of its MX records; which of them is tried first is the owner's affair. */
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
