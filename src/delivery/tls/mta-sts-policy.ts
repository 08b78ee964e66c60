import { MINUTE, SECOND } from '../../common/clock';
import { type DnsAnswer, isHostName } from '../../common/dns/dns-resolver';
import { NodeDnsResolver } from '../../common/dns/node-dns-resolver';
import { FairLimit } from '../../common/async/fair-turns';
import { EgressClient, type EgressFile } from '../../common/egress/egress-client';
import { PublicEgressGuard } from '../../common/egress/egress-guard';
import type { AppConfig } from '../../config/config';

/** A domain's policy for its mail exchangers (RFC 8461 section 3.2). */
export interface MtaStsPolicy {
  /** `testing`: mail goes as without a policy, and what would have kept it back is reported. */
  readonly mode: 'enforce' | 'testing' | 'none';
  /** Host names, lower case; a leading `*.` stands for one label. */
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
  const [, ...fields] = record.split(';').map((field) => field.trim());
  if (fields.at(-1) === '') fields.pop();
  if (!fields.every((field) => FIELD.test(field))) return undefined;
  const ids = fields.filter((field) => field.startsWith('id='));
  return ids.length === 1 ? ID_FIELD.exec(ids[0] ?? '')?.[1] : undefined;
}

/** Of the policy that the answer announces. `temporary`: it is unknown; undefined: none is announced. */
export function announcedId(announced: DnsAnswer<string>): { readonly id: string } | 'temporary' | undefined {
  if (announced.kind === 'temporary') return 'temporary';
  const id = announced.kind === 'found' ? readPolicyId(announced.records) : undefined;
  return id === undefined ? undefined : { id };
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
    const known = fields.get(name);
    if (known) known.push(value);
    else fields.set(name, [value]);
  }
  return fields;
}

/** A policy that ends one needs none. */
function areHosts(mx: readonly string[], mode: MtaStsPolicy['mode']): boolean {
  return mx.length <= MAX_MX && mx.every(isPattern) && (mx.length > 0 || mode === 'none');
}

/** Trimmed; empty lines are ignored. */
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

/** The words of RFC 8460 section 4.3.2.2 for a policy that cannot be had. */
export type FetchFailureType = 'sts-policy-fetch-error' | 'sts-policy-invalid' | 'sts-webpki-invalid';

export type FetchedPolicy =
  | { readonly kind: 'policy'; readonly policy: MtaStsPolicy }
  | {
      readonly kind: 'failed';
      readonly type: FetchFailureType;
      readonly reason: string;
      /** It was not tried. */
      readonly isBusy?: boolean;
    };

/** A web server that takes longer is as good as none (RFC 8461 section 3.3 suggests a minute). */
export const FETCH_SECONDS = 30;
const LIMITS = {
  connectTimeoutMs: 10 * SECOND,
  totalTimeoutMs: FETCH_SECONDS * SECOND,
  maxResponseBytes: 64 * 1024,
  keptResponseBytes: 0,
};
/** At a time in one process; those of slow web servers among them. */
const CONCURRENCY = 50;
/** Of one holder, whose thousand domains may all have slow web servers. What would wait longer than a minute is not fetched. */
const OF_ONE = { atATime: 15, waiting: Math.ceil((15 * MINUTE) / LIMITS.totalTimeoutMs) };

/**
 * Fetches policies from where RFC 8461 section 3.3 has them: over HTTPS with a certificate that the public authorities vouch
 * for, without a redirect, from public addresses.
 */
export class MtaStsFetcher {
  private readonly client: EgressClient;
  private readonly limit = new FairLimit(CONCURRENCY, OF_ONE);
  private readonly port: number;

  /** @param authorities of certificates, in PEM, instead of the platform's: for tests */
  constructor({ delivery }: AppConfig, authorities?: string) {
    const { dnsServers: servers, allowPrivateDestinations: allowPrivate } = delivery;
    const guard = new PublicEgressGuard(new NodeDnsResolver({ servers }), { allowLoopback: false, allowPrivate });
    this.client = new EgressClient(guard, { ...LIMITS, ...(authorities !== undefined && { authorities }) });
    this.port = delivery.mtaStsPort;
  }

  /**
   * Never rejects.
   * @param holder for whose mail it is
   */
  async fetch(domain: string, holder: string): Promise<FetchedPolicy> {
    const url = new URL(`https://mta-sts.${domain}:${this.port}/.well-known/mta-sts.txt`);
    const get = () => this.client.get({ url, headers: { accept: 'text/plain' }, holder });
    const file = await this.limit.run(holder, get).catch(() => undefined);
    return file ? evaluate(file) : TOO_MANY;
  }
}

const TOO_MANY: FetchedPolicy = {
  ...failed('sts-policy-fetch-error', 'too many are being fetched'),
  isBusy: true,
};

function evaluate(file: EgressFile): FetchedPolicy {
  if (file.kind === 'failed') {
    const { kind, reason } = file.failure;
    return failed(kind === 'tls' ? 'sts-webpki-invalid' : 'sts-policy-fetch-error', reason);
  }
  const { status, contentType = '', body } = file;
  // Section 3.3: 3xx must not be followed, and everything else but 200 is a failure.
  if (status !== 200) return failed('sts-policy-fetch-error', `the web server answered ${status}`);
  if (!/^text\/plain(?:[\s;]|$)/i.test(contentType)) return failed('sts-policy-invalid', 'the file is not text/plain');
  if (body === undefined) return failed('sts-policy-invalid', 'the file is longer than 64 KB');
  const policy = parsePolicy(body.toString('utf8'));
  return policy ? { kind: 'policy', policy } : failed('sts-policy-invalid', 'the file is no policy of version STSv1');
}

function failed(type: FetchFailureType, reason: string): Extract<FetchedPolicy, { kind: 'failed' }> {
  return { kind: 'failed', type, reason };
}
