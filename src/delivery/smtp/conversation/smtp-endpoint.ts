import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { ConnectionOptions, SecureContext } from 'node:tls';
import { AppError } from '../../../common/errors/app-error';
import { CLIENT_TLS } from '../../../common/tls/client-handshakes';
import type { TlsPolicy } from '../../ports/attempt-trace';
import type { TlsaDemand } from './tlsa';

/**
 * When to encrypt. `opportunistic`: STARTTLS if offered, without verification (RFC 7435). `starttls`: required.
 * `implicit`: TLS from the first byte (RFC 8314). `none`: plaintext even when STARTTLS is offered.
 */
export type SmtpSecurity = 'opportunistic' | 'starttls' | 'implicit' | 'none';

/** One next hop: an address of an MX host, or a relay. */
export interface SmtpEndpoint {
  /** IP address or host name to connect to. */
  readonly address: string;
  readonly port: number;
  /** The host's name: for SNI, for the certificate, for the facts. */
  readonly hostName: string;
  readonly security: SmtpSecurity;
  /** Whether the certificate must be valid for `hostName`; has no effect on opportunistic TLS. */
  readonly verifyCertificate: boolean;
  /** Who demands it; shown in events. By `security` when absent. */
  readonly policy?: TlsPolicy | undefined;
  /** What the certificate must match instead of a public authority (RFC 7672). */
  readonly tlsa?: TlsaDemand | undefined;
  /** Set on the way in plaintext after opportunistic TLS failed: what was wrong with it. */
  readonly tlsFailure?: string | undefined;
  /** PEM certificates to trust instead of the public authorities, for relays of one's own. */
  readonly trustedCertificates?: readonly string[];
  readonly auth?: SmtpCredentials;
  /** The local address to connect from, with its EHLO name; the system's choice when absent. */
  readonly source?: SmtpSource | undefined;
}

export interface SmtpSource {
  readonly address: string;
  readonly ehlo: string;
  readonly pool: string;
}

export interface SmtpCredentials {
  readonly user: string;
  readonly password: string;
}

const POLICY_OF: Readonly<Record<SmtpSecurity, TlsPolicy>> = {
  none: 'none',
  opportunistic: 'opportunistic',
  starttls: 'required',
  implicit: 'required',
};

/** The TLS policy that an attempt at the endpoint follows. */
export function policyOf({ policy, security }: SmtpEndpoint): TlsPolicy {
  return policy ?? POLICY_OF[security];
}

/** Whether mail may go there in plaintext when encryption fails (RFC 7435); credentials never do. */
export function allowsPlaintext({ security, auth }: SmtpEndpoint): boolean {
  return security === 'opportunistic' && auth === undefined;
}

/** Keeps the demand, for mail and events, although it is not met. @param tlsFailure why */
export function inPlaintext(endpoint: SmtpEndpoint, tlsFailure: string): SmtpEndpoint {
  return { ...endpoint, security: 'none', policy: policyOf(endpoint), tlsFailure };
}

/** Connections to one next hop that were made under the same demands have the same name: each can carry the other's mail. */
export function demandOf(endpoint: SmtpEndpoint): string {
  return `${policyOf(endpoint)} ${endpoint.verifyCertificate} ${endpoint.tlsa?.baseDomain} ${endpoint.tlsa?.id}`;
}

const HELO_NAME = /^[A-Za-z0-9._:[\]-]{1,255}$/;

/**
 * The name is configuration, but it goes on a command line.
 *
 * @throws AppError unless it looks like a host name or an address literal.
 */
export function assertHeloName(heloName: string): void {
  if (!HELO_NAME.test(heloName)) throw new AppError('internal_error', 'The EHLO name is not a host name');
}

/** Loading the public authorities takes milliseconds, so contexts are made once. */
const contexts = new WeakMap<readonly string[], SecureContext>();
let publicContext: SecureContext | undefined;

/** TLS settings for an endpoint; the socket is added by the caller. */
export function tlsOptionsFor(endpoint: SmtpEndpoint): ConnectionOptions {
  const hostName = endpoint.tlsa?.baseDomain ?? endpoint.hostName;
  return {
    host: hostName,
    // RFC 6066 section 3: no SNI for addresses.
    servername: isIP(hostName) === 0 ? hostName : '',
    rejectUnauthorized: endpoint.verifyCertificate && endpoint.security !== 'opportunistic',
    secureContext: contextFor(endpoint.trustedCertificates),
  };
}

function contextFor(trusted: readonly string[] | undefined): SecureContext {
  if (trusted === undefined) {
    publicContext ??= createSecureContext(CLIENT_TLS);
    return publicContext;
  }
  const context = contexts.get(trusted) ?? createSecureContext({ ...CLIENT_TLS, ca: [...trusted] });
  contexts.set(trusted, context);
  return context;
}
