import type { DnsAnswer } from '../../../common/dns/dns-resolver';
import type { RecordCheck } from '../dns-record';

const SHOWN_CHARACTERS = 100;

export const VERIFIED: RecordCheck = { result: 'verified' };

export function missing(problem: string): RecordCheck {
  return { result: 'missing', problem };
}

export function wrong(problem: string): RecordCheck {
  return { result: 'wrong', problem };
}

export function unreachable(name: string, reason: string): RecordCheck {
  return { result: 'unreachable', problem: `The DNS servers of ${name} gave no usable answer (${reason})` };
}

/** The texts of the TXT records at a name, or what it means that there are none. */
export function textsAt(host: string, answer: DnsAnswer<string>): readonly string[] | RecordCheck {
  if (answer.kind === 'found') return answer.records;
  if (answer.kind === 'temporary') return unreachable(host, answer.reason);
  return missing(`There is no TXT record at ${host}`);
}

/** What a stranger's zone says, fit for a sentence and for a text column: short, printable ASCII only. */
export function shown(text: string): string {
  const printable = text.slice(0, SHOWN_CHARACTERS).replace(/[^\x20-\x7e]/g, '?');
  return `"${printable}${text.length > SHOWN_CHARACTERS ? '…' : ''}"`;
}
