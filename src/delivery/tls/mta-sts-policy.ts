import { isHostName } from '../../common/dns/dns-resolver';

/** What a domain says of its mail exchangers (RFC 8461 section 3.2). */
export interface MtaStsPolicy {
  /** `testing`: mail goes as without a policy, and what would have kept it back is reported. */
  readonly mode: 'enforce' | 'testing' | 'none';
  /** Host names, lower case; `*.` at the beginning stands for one label. */
  readonly mx: readonly string[];
  readonly maxAgeSeconds: number;
}

/** Section 3.2: a year at most. */
const LONGEST_LIFE_SECONDS = 31_557_600;
/** A domain with more lists the same ones over and over. */
const MAX_MX = 100;
const MODES = ['enforce', 'testing', 'none'] as const;

const RECORD = /^v=STSv1[ \t]*;/;
const ID_FIELD = /^id=([a-zA-Z0-9]{1,32})$/;
const FIELD = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,31}=[\x21-\x3a\x3c\x3e-\x7e]+$/;

/**
 * The id of the policy that a domain announces at `_mta-sts` (section 3.1). A domain with no such record, with several, or
 * with one that does not follow the grammar, has no policy.
 */
export function readPolicyId(texts: readonly string[]): string | undefined {
  const [record, ...others] = texts.filter((text) => RECORD.test(text));
  if (record === undefined || others.length > 0) return undefined;
  const [, ...fields] = record.split(';').map((field) => field.replace(/^[ \t]+|[ \t]+$/g, ''));
  if (fields.at(-1) === '') fields.pop();
  if (!fields.every((field) => FIELD.test(field))) return undefined;
  const ids = fields.filter((field) => field.startsWith('id='));
  return ids.length === 1 ? ID_FIELD.exec(ids[0] ?? '')?.[1] : undefined;
}

const LINE = /^([a-zA-Z0-9][a-zA-Z0-9_.-]{0,31}):[ \t]*(\S.*)$/;

/** The policy in a file as it came (section 3.2); undefined when it is not one. Of a field that is repeated, the first counts. */
export function parsePolicy(file: string): MtaStsPolicy | undefined {
  const fields = fieldsOf(file);
  if (fields?.get('version')?.[0] !== 'STSv1') return undefined;
  const mode = MODES.find((known) => known === fields.get('mode')?.[0]);
  const maxAge = fields.get('max_age')?.[0] ?? '';
  const mx = (fields.get('mx') ?? []).map((pattern) => pattern.toLowerCase().replace(/\.$/, ''));
  if (mode === undefined || !/^\d{1,10}$/.test(maxAge) || !areHosts(mx, mode)) return undefined;
  return { mode, mx, maxAgeSeconds: Math.min(Number(maxAge), LONGEST_LIFE_SECONDS) };
}

/** Undefined when a line is no field. */
function fieldsOf(file: string): Map<string, string[]> | undefined {
  const fields = new Map<string, string[]>();
  for (const line of linesOf(file)) {
    const [, name, value] = LINE.exec(line) ?? [];
    if (name === undefined || value === undefined) return undefined;
    fields.set(name, [...(fields.get(name) ?? []), value]);
  }
  return fields;
}

/** A policy that ends one needs none. */
function areHosts(mx: readonly string[], mode: MtaStsPolicy['mode']): boolean {
  return mx.length <= MAX_MX && mx.every(isPattern) && (mx.length > 0 || mode === 'none');
}

/** Without the blanks at their ends; empty lines say nothing. */
function linesOf(file: string): string[] {
  return file
    .split('\n')
    .map((line) => line.trimEnd())
    .filter((line) => line !== '');
}

function isPattern(pattern: string): boolean {
  return isHostName(pattern.startsWith('*.') ? pattern.slice(2) : pattern);
}

/** Whether a mail exchanger is one of the policy's (section 4.1). @param hostName in A-labels */
export function allowsHost({ mx }: Pick<MtaStsPolicy, 'mx'>, hostName: string): boolean {
  const host = hostName.toLowerCase().replace(/\.$/, '');
  const parent = host.slice(host.indexOf('.') + 1);
  return mx.some((pattern) =>
    pattern.startsWith('*.') ? pattern.slice(2) === parent && host !== parent : pattern === host,
  );
}
