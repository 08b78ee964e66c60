import { allowsPlaintext, inPlaintext, type SmtpEndpoint } from '../conversation/smtp-endpoint';
import type { SmtpResult } from '../conversation/smtp-result';
import { SMTP_TIMEOUTS, type SmtpTimeouts } from '../conversation/smtp-timeouts';

/** How a job is sent to its next hop. */
export interface Try {
  /** Plaintext after opportunistic TLS failed twice. */
  readonly endpoint: SmtpEndpoint;
  readonly isTlsBroken?: boolean;
  /** True for the second try after a kept connection proved to be closed, or ended with 421. */
  readonly needsFresh: boolean;
  /** What the connection that ended with 421 had carried. */
  readonly capSeen?: number | undefined;
}

/**
 * The job for the front of the queue, when its failure allows a second try. It waits like any other, so the connection
 * limit holds.
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
  return isReused && !entry.needsFresh && isStale(result) ? { ...entry, needsFresh: true } : undefined;
}

/**
 * Opportunistic TLS (RFC 7435): a handshake may fail by chance, or for a session that the server has forgotten, so it
 * gets a second try before plaintext.
 */
function afterBrokenTls<Entry extends Try>(entry: Entry, tlsFailure: string): Entry {
  if (!entry.isTlsBroken) return { ...entry, needsFresh: true, isTlsBroken: true };
  return { ...entry, needsFresh: true, endpoint: inPlaintext(entry.endpoint, tlsFailure) };
}

/**
 * The time limits of an attempt: its first TLS handshake has a shorter one where plaintext is an alternative (RFC 7435).
 */
export function limitsOf({ endpoint, isTlsBroken }: Try, limits: Partial<SmtpTimeouts>): Partial<SmtpTimeouts> {
  if (isTlsBroken || !allowsPlaintext(endpoint)) return limits;
  const { tls, firstTls } = { ...SMTP_TIMEOUTS, ...limits };
  return { ...limits, tls: Math.min(tls, firstTls) };
}

/** True when a try has shown that the next one uses plaintext. */
export function givesUpTls(before: Try, after: Try | undefined): boolean {
  return before.endpoint.security !== 'none' && after?.endpoint.security === 'none';
}

/** 421 on a connection that has carried mail: "too many messages in this session". The message was not taken. */
function isEndOfConnection(result: SmtpResult): boolean {
  return result.kind === 'rejected' && result.reply.code === 421;
}

/**
 * True when the server had closed a kept connection before it read any of the message: no reply and no final dot, so
 * the message can be sent again.
 */
function isStale(result: SmtpResult): boolean {
  if (result.kind !== 'failed' || result.phase !== 'mail') return false;
  return result.cause === 'closed' || result.cause === 'reset';
}
