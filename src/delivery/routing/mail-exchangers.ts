import { isIP } from 'node:net';
import { type DnsAnswer, isHostName, type MxRecord } from '../../common/dns/dns-resolver';
import { dnsTrouble, LEADS_BACK, NO_ADDRESS, NO_SUCH_DOMAIN, NULL_MX, type Unroutable } from './router';

/** A domain may list more; a mail that fifty hosts refuse is not helped by the next. */
const MAXIMUM_CANDIDATES = 50;

/** Hosts to look up, in order of preference, or the reason why there is none. */
export type Candidates = { readonly kind: 'candidates'; readonly records: readonly MxRecord[] } | Unroutable;

/**
 * Chooses among a domain's mail exchangers (RFC 5321 section 5.1).
 * @param ownHostNames names of this service, lower case. A record that leads here is dropped with all that are not
 *   preferred to it, as mail would turn in circles.
 * @param random shuffles hosts of equal preference.
 */
export function chooseCandidates(
  domain: string,
  answer: DnsAnswer<MxRecord>,
  ownHostNames: ReadonlySet<string>,
  random: () => number,
): Candidates {
  switch (answer.kind) {
    case 'no-domain':
      return NO_SUCH_DOMAIN;
    case 'temporary':
      return dnsTrouble(answer.reason);
    case 'no-data':
      // The implicit MX: the domain itself.
      return chooseRecords([{ preference: 0, exchange: domain }], ownHostNames, random);
    case 'found':
      if (answer.records.every(({ exchange }) => exchange === '')) return NULL_MX;
      return chooseRecords(answer.records, ownHostNames, random);
  }
}

/** The first host by preference and name: domains with the same hosts have it in common. Undefined when none takes mail. */
export function groupOf(domain: string, answer: DnsAnswer<MxRecord>): string | undefined {
  if (answer.kind !== 'found') return domain;
  const sorted = answer.records
    .filter(namesHost)
    .sort((a, b) => a.preference - b.preference || (a.exchange < b.exchange ? -1 : 1));
  return sorted[0]?.exchange;
}

function chooseRecords(
  records: readonly MxRecord[],
  ownHostNames: ReadonlySet<string>,
  random: () => number,
): Candidates {
  const ownPreference = records
    .filter(({ exchange }) => ownHostNames.has(exchange))
    .reduce((least, { preference }) => Math.min(least, preference), Infinity);
  const preferred = records.filter(({ preference }) => preference < ownPreference);
  if (preferred.length === 0) return LEADS_BACK;
  const usable = shuffleWithin(withoutRepeats(preferred.filter(namesHost)), random).slice(0, MAXIMUM_CANDIDATES);
  return usable.length === 0 ? NO_ADDRESS : { kind: 'candidates', records: usable };
}

/** An exchange must be a name: an address literal there (RFC 5321 section 5.1) would also bypass the address checks. */
function namesHost({ exchange }: MxRecord): boolean {
  return isHostName(exchange) && isIP(exchange) === 0;
}

function withoutRepeats(records: readonly MxRecord[]): MxRecord[] {
  const best = new Map<string, MxRecord>();
  for (const record of records) {
    if (record.preference < (best.get(record.exchange)?.preference ?? Infinity)) best.set(record.exchange, record);
  }
  return [...best.values()];
}

/** By preference; hosts of equal preference in random order, which spreads the load (RFC 5321 section 5.1). */
export function shuffleWithin<Item extends { readonly preference: number }>(
  items: readonly Item[],
  random: () => number,
): Item[] {
  return items
    .map((item) => ({ item, rank: random() }))
    .sort((a, b) => a.item.preference - b.item.preference || a.rank - b.rank)
    .map(({ item }) => item);
}
