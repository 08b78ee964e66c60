import { allowsPlaintext, inPlaintext, type SmtpEndpoint } from './smtp-endpoint';
import type { SmtpResult } from './smtp-result';
import { SMTP_TIMEOUTS, type SmtpTimeouts } from './smtp-timeouts';

/** How a job goes to its next hop. */
export interface Try {
  /** Plaintext after opportunistic TLS failed twice. */
  readonly endpoint: SmtpEndpoint;
  /** True after it failed once. */
  readonly isTlsBroken?: boolean;
  /** True for the second try after a kept connection proved to be closed, or ended with 421. */
  readonly needsFresh: boolean;
  /** What the connection had carried that ended with 421. */
  readonly capSeen?: number | undefined;
}

/**
 * The job as it goes to the front of the line again, when its failure allows that: it then waits like any other,
 * so that the limit of connections holds.
 */
export function secondTry<Entry extends Try>(
  entry: Entry,
  result: SmtpResult,
  isReused: boolean,
  capSeen?: number,
): Entry | undefined {
  if (result.kind !== 'failed') {
    const endsConnection = isReused && !entry.needsFresh && isEndOfConnection(result);
    return endsConnection ? { ...entry, needsFresh: true, capSeen } : undefined;
  }
  if (result.mayRetryInPlaintext) return afterBrokenTls(entry, result.detail);
  // Others that were idle may be as dead, hence a fresh one.
  return isReused && !entry.needsFresh && isStale(result) ? { ...entry, needsFresh: true } : undefined;
}

/**
 * Opportunistic TLS (RFC 7435): broken encryption is worth no more than none, but no less either. A handshake may break by
 * chance, or for a session that the server has forgotten, so it has a second chance.
 */
function afterBrokenTls<Entry extends Try>(entry: Entry, tlsFailure: string): Entry {
  if (!entry.isTlsBroken) return { ...entry, needsFresh: true, isTlsBroken: true };
  return { ...entry, needsFresh: true, endpoint: inPlaintext(entry.endpoint, tlsFailure) };
}

/** The time limits of a try: the silence of one that another follows is not waited out. */
export function limitsOf({ endpoint, isTlsBroken }: Try, limits: Partial<SmtpTimeouts>): Partial<SmtpTimeouts> {
  if (isTlsBroken || !allowsPlaintext(endpoint)) return limits;
  const { tls, firstTls } = { ...SMTP_TIMEOUTS, ...limits };
  return { ...limits, tls: Math.min(tls, firstTls) };
}

/** True when a try has shown that the next goes in plaintext. */
export function givesUpTls(before: Try, after: Try | undefined): boolean {
  return before.endpoint.security !== 'none' && after?.endpoint.security === 'none';
}

/** 421 on a connection that has carried mail: "too many messages in this session". The message was not taken. */
function isEndOfConnection(result: SmtpResult): boolean {
  return result.kind === 'rejected' && result.reply.code === 421;
}

/**
 * True when a connection kept open had been closed by the server before it saw any of the message. Servers do that to
 * idle connections, and the notice can cross the next MAIL on its way; no reply came and no final dot went out, so the
 * message can be sent again.
 */
function isStale(result: SmtpResult): boolean {
  if (result.kind !== 'failed' || result.phase !== 'mail') return false;
  return result.cause === 'closed' || result.cause === 'reset';
}
