import type { RecordCheck, WantedRecord } from '../registry/wanted-records';
import type { DnsLookups } from './dns-lookups';
import { missing, shown, unreachable, VERIFIED, wrong } from './txt-records';

/** The host's mail must come to us by one of its MX records; which of them is tried first is the owner's affair. */
export async function checkInboundMx({ host, value }: WantedRecord, lookups: DnsLookups): Promise<RecordCheck> {
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
