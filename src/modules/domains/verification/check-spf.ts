import type { DnsAnswer } from '../../../common/dns/dns-resolver';
import type { RecordCheck } from '../registry/wanted-records';
import { missing, shown, unreachable, VERIFIED, wrong } from './dns-lookups';
import { isSpfRecord, parseSpf, type SpfMechanism, type SpfModifier, type SpfRecord } from './parse-spf';

/** Mechanisms and modifiers that make a receiver query DNS (RFC 7208 section 4.6.4). */
const LOOKING_UP: readonly string[] = ['include', 'a', 'mx', 'ptr', 'exists', 'redirect'];
const MAXIMUM_LOOKUPS = 10;
const WITHIN_LIMIT = `receivers stop at ${MAXIMUM_LOOKUPS} DNS look-ups (RFC 7208 section 4.6.4)`;

type QueryTxt = (name: string) => Promise<DnsAnswer<string>>;
/** `absent`: the record was evaluated to its end without finding the include. */
type Finding = RecordCheck | 'absent';

/**
 * Checks whether the SPF record of a domain authorises what `include:<wanted>` authorises: the include is in the record itself,
 * or in one that it includes or redirects to. Evaluates like a receiver, from left to right; errors that end a receiver's
 * evaluation before the include (a syntax error, an eleventh lookup, a domain without a record) end the search too.
 */
export async function checkSpf(domain: string, wanted: string, query: QueryTxt): Promise<RecordCheck> {
  const finding = await new IncludeSearch(wanted, query).search(domain, []);
  if (finding !== 'absent') return finding;
  return wrong(`The SPF record of ${domain} does not have include:${wanted}; add it before the "all" at its end`);
}

class IncludeSearch {
  private lookups = 0;

  constructor(
    private readonly wanted: string,
    private readonly query: QueryTxt,
  ) {}

  /** @param path the domains whose records have led to this one */
  async search(domain: string, path: readonly string[]): Promise<Finding> {
    if (path.includes(domain)) {
      return wrong(`The SPF records of ${[...path, domain].map(shown).join(', ')} include each other`);
    }
    const answer = await this.query(domain);
    if (answer.kind === 'temporary') return unreachable(domain, answer.reason);
    const read = readRecord(domain, answer.kind === 'found' ? answer.records : [], path.length === 0);
    if ('result' in read) return read;
    const terms = evaluated(read);
    // An include in this record is found without queries, so the result does not depend on other DNS servers.
    return this.findDirectly(domain, terms) ?? this.walk(domain, terms, path);
  }

  private findDirectly(domain: string, terms: SpfRecord): RecordCheck | undefined {
    const index = terms.findIndex((term) => this.leadsToWanted(term));
    const term = terms[index];
    if (term === undefined) return undefined;
    if (!passes(term)) {
      return wrong(`The SPF record of ${shown(domain)} negates include:${this.wanted}; remove the sign before it`);
    }
    const before = terms.slice(0, index + 1).filter(looksUp).length;
    return this.lookups + before > MAXIMUM_LOOKUPS ? tooMany(domain) : VERIFIED;
  }

  private async walk(domain: string, terms: SpfRecord, path: readonly string[]): Promise<Finding> {
    for (const term of terms.filter(looksUp)) {
      this.lookups += 1;
      if (this.lookups > MAXIMUM_LOOKUPS) return tooMany(domain);
      const target = targetOf(term);
      if (target === undefined || !passes(term)) continue;
      const finding = await this.search(target, [...path, domain]);
      if (finding !== 'absent') return finding;
    }
    return 'absent';
  }

  private leadsToWanted(term: SpfMechanism | SpfModifier): boolean {
    return (term.name === 'include' || term.name === 'redirect') && nameOf(term.value ?? '') === nameOf(this.wanted);
  }
}

/** The SPF record among the texts of a name; a check result when there is none or more than one. */
function readRecord(domain: string, texts: readonly string[], isOwn: boolean): SpfRecord | RecordCheck {
  const [text, ...others] = texts.filter(isSpfRecord);
  if (text === undefined) return noRecord(domain, texts, isOwn);
  if (others.length > 0) return wrong(`There is more than one SPF record at ${shown(domain)}; merge them into one`);
  const parsed = parseSpf(text);
  if (!parsed.ok) {
    return wrong(`The SPF record of ${shown(domain)} has an error at ${shown(parsed.term)}: ${parsed.problem}`);
  }
  if (isOwn && parsed.record.some(allowsAnyone)) {
    return wrong(`The SPF record of ${shown(domain)} ends with "+all", which lets anyone send for it; use "~all"`);
  }
  return parsed.record;
}

/** Bounded, since anyone's text is tried: with `*` the time grows with the cube of the number of blanks. */
const SIMILAR = /^\W{0,20}v?[\s=]{0,10}spf1\b/i;

function noRecord(domain: string, texts: readonly string[], isOwn: boolean): RecordCheck {
  const similar = texts.find((text) => SIMILAR.test(text));
  if (similar !== undefined) {
    return wrong(`The TXT record ${shown(similar)} of ${shown(domain)} must begin with "v=spf1 "`);
  }
  return isOwn
    ? missing(`There is no SPF record at ${domain}`)
    : wrong(`${shown(domain)}, which the SPF record includes, has no SPF record itself`);
}

/** The terms that a receiver evaluates: none after `all`, and `redirect` only without it (RFC 7208 sections 5.1, 6.1). */
function evaluated(record: SpfRecord): SpfRecord {
  const end = record.findIndex((term) => term.name === 'all' && term.kind === 'mechanism');
  const mechanisms = record.slice(0, end < 0 ? undefined : end).filter((term) => term.kind === 'mechanism');
  return end < 0 ? [...mechanisms, ...record.filter((term) => term.kind === 'modifier')] : mechanisms;
}

function allowsAnyone(term: SpfMechanism | SpfModifier): boolean {
  return term.kind === 'mechanism' && term.name === 'all' && term.qualifier === '+';
}

function looksUp({ name }: SpfMechanism | SpfModifier): boolean {
  return LOOKING_UP.includes(name);
}

function passes(term: SpfMechanism | SpfModifier): boolean {
  return term.kind === 'modifier' || term.qualifier === '+';
}

/** The domain whose record is evaluated next; undefined when it depends on the message (macros) or there is none. */
function targetOf({ name, value }: SpfMechanism | SpfModifier): string | undefined {
  if ((name !== 'include' && name !== 'redirect') || value === undefined || value.includes('%')) return undefined;
  return nameOf(value);
}

function nameOf(value: string): string {
  return value.toLowerCase().replace(/\.$/, '');
}

function tooMany(domain: string): RecordCheck {
  return wrong(`The SPF record of ${shown(domain)} needs too many look-ups: ${WITHIN_LIMIT}`);
}
