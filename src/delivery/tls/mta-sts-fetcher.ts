import pLimit from 'p-limit';
import { MINUTE, SECOND } from '../../common/clock';
import { NodeDnsResolver } from '../../common/dns/node-dns-resolver';
import { EgressClient, type EgressFile } from '../../common/egress/egress-client';
import { PublicEgressGuard } from '../../common/egress/egress-guard';
import type { AppConfig } from '../../config/config';
import { type MtaStsPolicy, parsePolicy } from './mta-sts-policy';

/** The words of RFC 8460 section 4.3.2.2 for a policy that cannot be had. */
export type FetchFailureType = 'sts-policy-fetch-error' | 'sts-policy-invalid' | 'sts-webpki-invalid';

export type FetchedPolicy =
  | { readonly kind: 'policy'; readonly policy: MtaStsPolicy }
  | { readonly kind: 'failed'; readonly type: FetchFailureType; readonly reason: string };

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
/** What waits longer for its turn is not fetched. */
const MAX_WAITING = Math.ceil((CONCURRENCY * MINUTE) / LIMITS.totalTimeoutMs);

/**
 * Fetches policies from where RFC 8461 section 3.3 has them: over HTTPS with a certificate that the public authorities vouch
 * for, without a redirect, from public addresses.
 */
export class MtaStsFetcher {
  private readonly client: EgressClient;
  private readonly limit = pLimit(CONCURRENCY);
  private readonly port: number;

  /** @param authorities of certificates, in PEM, instead of the platform's: for tests */
  constructor({ delivery }: AppConfig, authorities?: string) {
    const { dnsServers: servers, allowPrivateDestinations: allowPrivate } = delivery;
    const guard = new PublicEgressGuard(new NodeDnsResolver({ servers }), { allowLoopback: false, allowPrivate });
    this.client = new EgressClient(guard, { ...LIMITS, ...(authorities !== undefined && { authorities }) });
    this.port = delivery.mtaStsPort;
  }

  /** Never rejects. */
  async fetch(domain: string): Promise<FetchedPolicy> {
    if (this.limit.pendingCount >= MAX_WAITING) return failed('sts-policy-fetch-error', 'too many are being fetched');
    const url = new URL(`https://mta-sts.${domain}:${this.port}/.well-known/mta-sts.txt`);
    return evaluate(await this.limit(() => this.client.get({ url, headers: { accept: 'text/plain' } })));
  }
}

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

function failed(type: FetchFailureType, reason: string): FetchedPolicy {
  return { kind: 'failed', type, reason };
}
