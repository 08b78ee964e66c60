import { parseJson } from '../../../common/json/parse-json';
import { parseDomain } from '../../../common/mail-domain';
import {
  TLS_POLICY_TYPES,
  TLS_SUCCESS,
  type TlsReport,
  type TlsResult,
} from '../../domains/aggregate-reports/aggregate-reports.service';
import { printable } from './report';
import { filesIn, unpack } from './unpack';

/**
 * Of one report, unpacked; those of the largest senders have some kilobytes. An object with 40,000 names took 100 ms of a turn of the event
 * loop, one with 10,000 takes 20.
 */
const LIMITS = { bytes: 512 * 1024, items: 10_000, policies: 100, details: 500, text: 300 } as const;
const FILES = {
  types: /^application\/(?:tlsrpt\+gzip|tlsrpt\+json|gzip|x-gzip|json|octet-stream)$/,
  names: /\.json(?:\.gz)?$/i,
};
const RESULT = /^[a-z][a-z0-9-]{0,49}$/;

/** The report on TLS (RFC 8460) that a message carries; undefined when it carries none that can be read. */
export async function readTlsReport(raw: Buffer): Promise<TlsReport | undefined> {
  for (const data of filesIn(raw, FILES)) {
    const report = await textOf(data).then(parseTlsReport, () => undefined);
    if (report) return report;
  }
  return undefined;
}

async function textOf(data: Buffer): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of unpack(data, LIMITS.bytes)) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

/** The JSON of RFC 8460 section 4.4, whatever else may be in it; undefined for what is no report. */
export function parseTlsReport(text: string): TlsReport | undefined {
  const whole = objectIn(valueIn(text));
  const reporter = textIn(whole['organization-name']) ?? textIn(whole['contact-info']);
  const reportId = textIn(whole['report-id']);
  const period = periodIn(objectIn(whole['date-range']));
  if (!reporter || !reportId || !period || !Array.isArray(whole.policies)) return undefined;
  const domains = new Map<string, TlsResult[]>();
  for (const policy of whole.policies.slice(0, LIMITS.policies)) {
    const { domain, results } = readPolicy(objectIn(policy));
    if (domain !== undefined) domains.set(domain, [...(domains.get(domain) ?? []), ...results]);
  }
  return { reporter, reportId, ...period, domains };
}

type Json = Readonly<Record<string, unknown>>;

function readPolicy({ policy, summary, 'failure-details': details }: Json): {
  domain: string | undefined;
  results: TlsResult[];
} {
  const said = objectIn(policy);
  const policyType = TLS_POLICY_TYPES.find((type) => type === said['policy-type']) ?? 'no-policy-found';
  const parsed = parseDomain((textIn(said['policy-domain']) ?? '').replace(/\.$/, ''));
  const successes = countIn(objectIn(summary)['total-successful-session-count']);
  const failures = (Array.isArray(details) ? details : []).slice(0, LIMITS.details).map(readFailure);
  const results = [{ result: TLS_SUCCESS, mxHost: '', sessions: successes }, ...failures]
    .filter(({ sessions }) => sessions > 0)
    .map((result) => ({ policyType, ...result }));
  return { domain: parsed.ok ? parsed.domain : undefined, results };
}

/** Of a type that is none, nothing is counted. */
function readFailure(detail: unknown): Omit<TlsResult, 'policyType'> {
  const failure = objectIn(detail);
  const result = textIn(failure['result-type'])?.toLowerCase() ?? '';
  const mxHost = textIn(failure['receiving-mx-hostname'])?.toLowerCase().slice(0, 253) ?? '';
  const isFailure = RESULT.test(result) && result !== TLS_SUCCESS;
  return { result, mxHost, sessions: isFailure ? countIn(failure['failed-session-count']) : 0 };
}

function periodIn({ 'start-datetime': start, 'end-datetime': stop }: Json): { begin: Date; end: Date } | undefined {
  const [begin, end] = [timeIn(start), timeIn(stop)];
  return begin && end && begin <= end ? { begin, end } : undefined;
}

/** Bounded before it is parsed: half a megabyte of brackets, which anybody can mail, took 150 ms. */
function valueIn(text: string): unknown {
  try {
    return parseJson(Buffer.from(text), LIMITS.items);
  } catch {
    return undefined;
  }
}

function objectIn(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? printable(value, LIMITS.text) : undefined;
}

function countIn(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 && value <= 1e9 ? value : 0;
}

/** RFC 3339, within this century. */
function timeIn(value: unknown): Date | undefined {
  const isTime = typeof value === 'string' && /^20\d\d-\d\d-\d\d[Tt ]\d\d:\d\d/.test(value) && value.length <= 40;
  const time = new Date(isTime ? value : NaN);
  return Number.isNaN(time.getTime()) ? undefined : time;
}
