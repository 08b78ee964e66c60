import { SECOND } from '../../../common/clock';
import type { DnsAnswer, DnsResolver, LookupOptions, MxRecord } from '../../../common/dns/dns-resolver';
import type { RecordCheck, WantedRecord } from '../registry/wanted-records';

const TOTAL_MS = 10 * SECOND;
/** A zone with many aliases and includes must not turn one check into hundreds of queries. */
const MAXIMUM_QUERIES = 40;

/** Key of a name's mail exchangers in the map, where the plain name is the key of its texts. */
const exchangersOf = (name: string): string => `MX ${name}`;

/** The lookups of one check of one domain, limited in time and number; further ones return `temporary`. Never cached. */
export class DnsLookups {
  private readonly options: LookupOptions & { readonly signal: AbortSignal };
  private readonly seen = new Map<string, Set<string>>();
  private queries = 0;

  constructor(
    private readonly resolver: DnsResolver,
    holder?: string,
    totalMs = TOTAL_MS,
  ) {
    this.options = { signal: AbortSignal.timeout(totalMs), holder };
  }

  async txt(name: string): Promise<DnsAnswer<string>> {
    return this.note(name, await this.bounded(1, () => this.resolver.resolveTxt(name, this.options)));
  }

  async cname(name: string): Promise<DnsAnswer<string>> {
    return this.note(name, await this.bounded(1, () => this.resolver.resolveCname(name, this.options)));
  }

  /** The records at a name, as returned: texts and aliases, or mail exchangers with their preference. */
  seenAt({ host, type }: Pick<WantedRecord, 'host' | 'type'>): readonly string[] {
    return [...(this.seen.get(type === 'MX' ? exchangersOf(host) : host) ?? [])];
  }

  async mx(name: string): Promise<DnsAnswer<MxRecord>> {
    const answer = await this.bounded(1, () => this.resolver.resolveMx(name, this.options));
    // The root is a null MX (RFC 7505).
    const lineOf = ({ preference, exchange }: MxRecord) => `${preference} ${exchange || '.'}`;
    if (answer.kind === 'found') this.see(exchangersOf(name), answer.records.map(lineOf));
    return answer;
  }

  /** Queries A and AAAA records. */
  addresses(name: string): Promise<DnsAnswer<unknown>> {
    return this.bounded(2, () => this.resolver.resolveAddresses(name, this.options));
  }

  private note(name: string, answer: DnsAnswer<string>): DnsAnswer<string> {
    if (answer.kind === 'found') this.see(name, answer.records);
    return answer;
  }

  private see(at: string, records: readonly string[]): void {
    this.seen.set(at, new Set([...(this.seen.get(at) ?? []), ...records]));
  }

  private async bounded<Item>(count: number, query: () => Promise<DnsAnswer<Item>>): Promise<DnsAnswer<Item>> {
    if (this.options.signal.aborted) return { kind: 'temporary', reason: 'the check took too long' };
    this.queries += count;
    return this.queries > MAXIMUM_QUERIES ? { kind: 'temporary', reason: 'too many look-ups' } : query();
  }
}

const SHOWN_CHARACTERS = 100;
const TAG_NAME = /^[a-z][a-z0-9_]*$/i;

export const VERIFIED: RecordCheck = { result: 'verified' };

/** The result for a record that is not there. */
export function missing(problem: string): RecordCheck {
  return { result: 'missing', problem };
}

/** The result for a record with another value. */
export function wrong(problem: string): RecordCheck {
  return { result: 'wrong', problem };
}

/** The result when DNS returns nothing usable, so that the state is unknown. */
export function unreachable(name: string, reason: string): RecordCheck {
  return { result: 'unreachable', problem: `The DNS servers of ${name} gave no usable answer (${reason})` };
}

/** The texts of the TXT records at a name, or the check result when there are none. */
export function textsAt(host: string, answer: DnsAnswer<string>): readonly string[] | RecordCheck {
  if (answer.kind === 'found') return answer.records;
  if (answer.kind === 'temporary') return unreachable(host, answer.reason);
  return missing(`There is no TXT record at ${host}`);
}

/** Text of a customer's zone, safe for messages and text columns: shortened, printable ASCII only. */
export function shown(text: string): string {
  const printable = text.slice(0, SHOWN_CHARACTERS).replace(/[^\x20-\x7e]/g, '?');
  return `"${printable}${text.length > SHOWN_CHARACTERS ? '…' : ''}"`;
}

const MAX_FOUND = 5;
const MAX_FOUND_CHARACTERS = 300;
/** Which of the many texts at a domain's own name belong to a record. */
const KINDS: Readonly<Partial<Record<WantedRecord['purpose'], RegExp>>> = { spf: /v=spf1/i, dmarc: /v=DMARC1/i };

/** What a zone has in place of a record, to be shown with it: a few values, shortened, without control characters. */
export function foundFor({ purpose }: Pick<WantedRecord, 'purpose'>, seen: readonly string[]): string[] {
  const meant = seen.filter((text) => KINDS[purpose]?.test(text));
  return (meant.length > 0 ? meant : seen)
    .slice(0, MAX_FOUND)
    .map((text) => text.slice(0, MAX_FOUND_CHARACTERS).replace(/[^\x20-\x7e]/g, '?'));
}

/** Checks the ownership record: one of the TXT records must be the wanted value; others do not matter. */
export function evaluateOwnership({ host, value }: WantedRecord, answer: DnsAnswer<string>): RecordCheck {
  const records = textsAt(host, answer);
  if ('result' in records) return records;
  const texts = records.map((text) => text.trim());
  if (texts.includes(value)) return VERIFIED;
  if (texts.some((text) => text.replaceAll('"', '') === value)) {
    return wrong(`The TXT record at ${host} has quotation marks within its text`);
  }
  return wrong(`The TXT record at ${host} is another one; it must be ${value}`);
}

/**
 * The tags of a DKIM or DMARC record in their order (RFC 6376 section 3.2): names are case-sensitive, white space around
 * names and values is ignored. Undefined for text that is not a tag list, or has a tag twice.
 */
export function parseTagList(text: string): ReadonlyMap<string, string> | undefined {
  const tags = new Map<string, string>();
  for (const tag of text.replace(/;\s*$/, '').split(';')) {
    const equals = tag.indexOf('=');
    const name = tag.slice(0, Math.max(equals, 0)).trim();
    if (!TAG_NAME.test(name) || tags.has(name)) return undefined;
    tags.set(name, tag.slice(equals + 1).trim());
  }
  return tags;
}

/** The name of a record's first tag; undefined without one. */
export function firstTag(tags: ReadonlyMap<string, string>): string | undefined {
  return tags.keys().next().value;
}
