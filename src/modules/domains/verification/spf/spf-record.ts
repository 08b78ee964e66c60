export const QUALIFIERS = ['+', '-', '~', '?'] as const;
export type SpfQualifier = (typeof QUALIFIERS)[number];

export const MECHANISMS = ['all', 'include', 'a', 'mx', 'ptr', 'ip4', 'ip6', 'exists'] as const;
export type SpfMechanismName = (typeof MECHANISMS)[number];

export interface SpfMechanism {
  readonly kind: 'mechanism';
  readonly name: SpfMechanismName;
  readonly qualifier: SpfQualifier;
  /** A domain, perhaps with macros, or an address. */
  readonly value?: string;
  readonly ip4Length?: number;
  readonly ip6Length?: number;
}

export interface SpfModifier {
  readonly kind: 'modifier';
  /** Lower case. */
  readonly name: string;
  readonly value: string;
}

/** The terms of an SPF record in their order (RFC 7208 section 4.6.1). */
export type SpfRecord = readonly (SpfMechanism | SpfModifier)[];

/** True for the records among the texts of a name that are SPF records at all (RFC 7208 section 4.5). */
export function isSpfRecord(text: string): boolean {
  return /^v=spf1(?: |$)/i.test(text);
}

/** The record's text, in lower case where case does not matter. */
export function formatSpf(record: SpfRecord): string {
  return ['v=spf1', ...record.map(formatTerm)].join(' ');
}

function formatTerm(term: SpfMechanism | SpfModifier): string {
  if (term.kind === 'modifier') return `${term.name}=${term.value}`;
  const qualifier = term.qualifier === '+' ? '' : term.qualifier;
  const value = term.value === undefined ? '' : `:${term.value}`;
  const ip4 = term.ip4Length === undefined ? '' : `/${term.ip4Length}`;
  const slashes = term.name === 'ip6' ? '/' : '//';
  const ip6 = term.ip6Length === undefined ? '' : `${slashes}${term.ip6Length}`;
  return `${qualifier}${term.name}${value}${ip4}${ip6}`;
}
