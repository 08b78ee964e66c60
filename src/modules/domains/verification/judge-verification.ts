import type { DnsAnswer } from '../../../common/dns/dns-resolver';
import type { RecordCheck, WantedRecord } from '../dns-record';
import { textsAt, VERIFIED, wrong } from './check-results';

/** The ownership record: one of the TXT records is the wanted value; others beside it do not matter. */
export function judgeVerification({ host, value }: WantedRecord, answer: DnsAnswer<string>): RecordCheck {
  const records = textsAt(host, answer);
  if ('result' in records) return records;
  const texts = records.map((text) => text.trim());
  if (texts.includes(value)) return VERIFIED;
  if (texts.some((text) => text.replaceAll('"', '') === value)) {
    return wrong(`The TXT record at ${host} has quotation marks within its text`);
  }
  return wrong(`The TXT record at ${host} is another one; it must be ${value}`);
}
