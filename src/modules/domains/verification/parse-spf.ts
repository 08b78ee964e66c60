import { isIPv4, isIPv6 } from 'node:net';

type SpfQualifier = '+' | '-' | '~' | '?';

const MECHANISMS = ['all', 'include', 'a', 'mx', 'ptr', 'ip4', 'ip6', 'exists'] as const;
type SpfMechanismName = (typeof MECHANISMS)[number];

export interface SpfMechanism {
  readonly kind: 'mechanism';
  readonly name: SpfMechanismName;
  readonly qualifier: SpfQualifier;
  /** A domain, possibly with macros, or an address. */
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

/** Whether a text at a name is an SPF record, valid or not (RFC 7208 section 4.5). */
export function isSpfRecord(text: string): boolean {
  return /^v=spf1(?: |$)/i.test(text);
}

/** The record, or the first term that makes it a permanent error for every receiver, with the problem. */
export type SpfParse =
  | { readonly ok: true; readonly record: SpfRecord }
  | { readonly ok: false; readonly term: string; readonly problem: string };

const MODIFIER = /^([a-z][a-z0-9_.-]*)=(.*)$/is;
const MECHANISM = /^([+\-~?]?)([a-z][a-z0-9_.-]*)(?::(.*?))?((?:\/\d{1,3})?(?:\/\/\d{1,3})?)$/is;
const LENGTHS = /^(?:\/(\d+))?(?:\/\/(\d+))?$/;
/** RFC 7208 section 7.1; the letters c, r and t are for explanations only. */
const MACRO_STRING = /^(?:%\{[slodiphv](?:[1-9]\d{0,2})?r?[.\-+,/_=]*\}|%[%_-]|[\x21-\x24\x26-\x7e])+$/i;
const ANY_MACRO_STRING = /^(?:%\{[slodiphcrtv](?:[1-9]\d{0,2})?r?[.\-+,/_=]*\}|%[%_-]|[\x21-\x24\x26-\x7e])*$/i;
/** `domain-end`: a last label that is not all digits, or a macro. */
const DOMAIN_END = /(?:%\{[^}]*\}|%[%_-]|\.(?=[a-z0-9-]*[a-z-])[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.?)$/i;

class SpfSyntaxError extends Error {}

/** Parses an SPF record (RFC 7208 section 12). Never throws, whatever the text. */
export function parseSpf(text: string): SpfParse {
  const [version = '', ...terms] = text.split(' ');
  if (version.toLowerCase() !== 'v=spf1') {
    return { ok: false, term: version, problem: 'the record must begin with v=spf1' };
  }
  const record: (SpfMechanism | SpfModifier)[] = [];
  for (const term of terms.filter((each) => each !== '')) {
    try {
      const parsed = parseTerm(term);
      refuseSecond(parsed, record);
      record.push(parsed);
    } catch (error) {
      if (!(error instanceof SpfSyntaxError)) throw error;
      return { ok: false, term, problem: error.message };
    }
  }
  return { ok: true, record };
}

function parseTerm(term: string): SpfMechanism | SpfModifier {
  const modifier = MODIFIER.exec(term);
  if (modifier) return parseModifier((modifier[1] ?? '').toLowerCase(), modifier[2] ?? '');
  const [, qualifier, name = '', value, lengths = ''] =
    MECHANISM.exec(term) ?? refuse('it is neither a mechanism nor a modifier');
  return parseMechanism(mechanismNamed(name.toLowerCase()), (qualifier || '+') as SpfQualifier, value, lengths);
}

function parseModifier(name: string, value: string): SpfModifier {
  if ((name === 'redirect' || name === 'exp') && !isDomain(value)) refuse(`${name}= needs a domain`);
  if (!ANY_MACRO_STRING.test(value)) refuse('its value is malformed');
  return { kind: 'modifier', name, value };
}

function parseMechanism(
  name: SpfMechanismName,
  qualifier: SpfQualifier,
  value: string | undefined,
  lengths: string,
): SpfMechanism {
  const term = { kind: 'mechanism', name, qualifier } as const;
  switch (name) {
    case 'all':
      if (value !== undefined || lengths !== '') refuse('all takes no value');
      return term;
    case 'include':
    case 'exists':
      return { ...term, value: domain(name, `${value ?? ''}${lengths}`) };
    case 'ptr':
      if (value === undefined) return lengths === '' ? term : refuse('ptr takes no prefix length');
      return { ...term, value: domain(name, value + lengths) };
    case 'a':
    case 'mx':
      return { ...term, ...(value !== undefined && { value: domain(name, value) }), ...dualLengths(lengths) };
    case 'ip4':
      return { ...term, ...network(value, lengths, isIPv4, 'ip4Length', 32) };
    case 'ip6':
      return { ...term, ...network(value, lengths, isIPv6, 'ip6Length', 128) };
  }
}

function mechanismNamed(name: string): SpfMechanismName {
  return MECHANISMS.find((known) => known === name) ?? refuse('there is no such mechanism');
}

function refuseSecond(term: SpfMechanism | SpfModifier, record: SpfRecord): void {
  if (term.kind !== 'modifier' || !['redirect', 'exp'].includes(term.name)) return;
  if (record.some((other) => other.kind === 'modifier' && other.name === term.name)) {
    refuse(`${term.name}= is there twice`);
  }
}

function domain(mechanism: string, value: string): string {
  return isDomain(value) ? value : refuse(`${mechanism} needs a domain`);
}

function isDomain(value: string): boolean {
  return MACRO_STRING.test(value) && DOMAIN_END.test(value);
}

function dualLengths(text: string): Pick<SpfMechanism, 'ip4Length' | 'ip6Length'> {
  const [, four, six] = LENGTHS.exec(text) ?? [];
  return {
    ...(four !== undefined && { ip4Length: lengthOf(four, 32) }),
    ...(six !== undefined && { ip6Length: lengthOf(six, 128) }),
  };
}

function network(
  address: string | undefined,
  lengths: string,
  isAddress: (text: string) => boolean,
  field: 'ip4Length' | 'ip6Length',
  maximum: number,
): Partial<SpfMechanism> {
  if (address === undefined || address.includes('%') || !isAddress(address)) refuse('its address is malformed');
  if (lengths === '') return { value: address };
  if (lengths.startsWith('//')) refuse('its prefix length is malformed');
  return { value: address, [field]: lengthOf(lengths.slice(1), maximum) };
}

/** Parses a prefix length, which has no leading zeros (RFC 7208 section 12). */
function lengthOf(digits: string, maximum: number): number {
  const length = Number(digits);
  return String(length) === digits && length <= maximum ? length : refuse('its prefix length is malformed');
}

function refuse(problem: string): never {
  throw new SpfSyntaxError(problem);
}
