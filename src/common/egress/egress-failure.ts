/**
 * Why a request has no status. `refused`: by the guard; `dns`: the host cannot be looked up now; `connect_timeout`, `timeout`:
 * the time limits; `connection`: it failed or broke; `tls`: the certificate is not trusted; `protocol`: the reply is not HTTP;
 * `stopped`: this service ended it.
 */
export type EgressFailureKind =
  | 'refused'
  | 'dns'
  | 'connect_timeout'
  | 'timeout'
  | 'connection'
  | 'tls'
  | 'protocol'
  | 'stopped';

export interface EgressFailure {
  readonly kind: EgressFailureKind;
  /** For the customer: a phrase that reveals nothing internal. */
  readonly reason: string;
}

const REASONS: Record<EgressFailureKind, string> = {
  refused: 'the host must exist and have public addresses only',
  dns: 'the host name could not be looked up',
  connect_timeout: 'no connection within the time limit',
  timeout: 'no complete answer within the time limit',
  connection: 'the connection failed',
  tls: 'the TLS connection failed',
  protocol: 'the answer is not valid HTTP',
  stopped: 'the request was ended by the sender',
};

const REASONS_BY_CODE = new Map(
  Object.entries({
    ECONNREFUSED: 'the connection was refused',
    ECONNRESET: 'the connection was closed before the answer',
    EPIPE: 'the connection was closed before the answer',
    EHOSTUNREACH: 'the host cannot be reached',
    ENETUNREACH: 'the host cannot be reached',
    ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate is for another host name',
    CERT_HAS_EXPIRED: 'the certificate has expired',
    CERT_NOT_YET_VALID: 'the certificate is not valid yet',
  }),
);

/** Ends a request that this service aborts or refuses. */
export class EgressError extends Error {
  constructor(readonly kind: EgressFailureKind) {
    super(REASONS[kind]);
    this.name = 'EgressError';
  }
}

const TRUST_CODE = /CERT|SELF_SIGNED|UNABLE_TO|ISSUER|CRL/;
const TLS_CODE = /^(EPROTO|ERR_SSL|ERR_TLS)/;

/** Describes an error of Node for the operator of the host. */
export function toEgressFailure(error: unknown): EgressFailure {
  if (error instanceof EgressError) return { kind: error.kind, reason: error.message };
  const code = (error as { code?: unknown } | undefined)?.code;
  const known = typeof code === 'string' ? code : '';
  if (TRUST_CODE.test(known)) {
    return { kind: 'tls', reason: REASONS_BY_CODE.get(known) ?? 'the certificate is not trusted' };
  }
  if (TLS_CODE.test(known)) return { kind: 'tls', reason: REASONS.tls };
  if (known.startsWith('HPE_')) return { kind: 'protocol', reason: REASONS.protocol };
  if (known === 'ETIMEDOUT') return { kind: 'connect_timeout', reason: REASONS.connect_timeout };
  return { kind: 'connection', reason: REASONS_BY_CODE.get(known) ?? REASONS.connection };
}
