import type { DmarcRecord, DmarcReport } from './aggregate-report';

/** Sources per report and domain; those with the most messages are kept. */
const MAX_SOURCES = 500;
/** Domains per report: for DMARC the domain of the policy and its subdomains. */
export const MAX_DOMAINS = 20;
/** Labels below the domain of a policy, at which a verified domain is looked for. */
const MAX_LABELS = 5;

/** The part of a report about one From domain. */
export interface DmarcGroup {
  /** The domain and those above it up to the one of the policy, the nearest first. */
  readonly names: readonly string[];
  readonly records: readonly DmarcRecord[];
}

/** The parts of a report by From domain. */
export function groupsOf(report: DmarcReport): DmarcGroup[] {
  return [...byDomain(report)]
    .filter(([, records]) => records.length > 0)
    .map(([name, records]) => ({ names: namesUpTo(report.domain, name), records }));
}

/** Records by domain; those of names outside the policy's domain are dropped, since a report can only be about its own domain. */
function byDomain({ domain, records }: DmarcReport): Map<string, DmarcRecord[]> {
  // The first, whatever names a forger has put before it.
  const groups = new Map<string, DmarcRecord[]>([[domain, []]]);
  for (const record of records) {
    const { headerFrom = domain } = record;
    if (headerFrom !== domain && !headerFrom.endsWith(`.${domain}`)) continue;
    const group = groups.get(headerFrom);
    if (group) group.push(record);
    else if (groups.size < MAX_DOMAINS) groups.set(headerFrom, [record]);
  }
  return groups;
}

/** A name and those above it up to `top`, the nearest first; of a deep one only the highest. */
function namesUpTo(top: string, name: string): string[] {
  const labels =
    name === top
      ? []
      : name
          .slice(0, -top.length - 1)
          .split('.')
          .slice(-MAX_LABELS);
  return [...labels.map((_, at) => `${labels.slice(at).join('.')}.${top}`), top];
}

/** Merges records with the same source, result and disposition. */
export function summedRecords(records: readonly DmarcRecord[]): DmarcRecord[] {
  const sums = new Map<string, DmarcRecord>();
  for (const record of records) {
    const key = `${record.sourceIp} ${record.dkim} ${record.spf} ${record.disposition}`;
    const messages = (sums.get(key)?.messages ?? 0) + record.messages;
    sums.set(key, { ...record, messages });
  }
  return [...sums.values()].sort((one, other) => other.messages - one.messages).slice(0, MAX_SOURCES);
}
