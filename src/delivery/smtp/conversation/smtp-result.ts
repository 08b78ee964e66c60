import type { ConversationTrace, SmtpPhase, TlsFault, TlsPolicy } from '../../ports/attempt-trace';
import type { SmtpFacts } from '../../ports/outcome';
import { lastLine, wholeLines, type SmtpReply, printable } from './smtp-reply';

/** Why a conversation ended without a reply to act on. */
export type SmtpFailureCause =
  /** A time limit of `SMTP_TIMEOUTS` passed. */
  | 'timeout'
  | 'closed'
  /** The remote side reset the connection. */
  | 'reset'
  | 'refused'
  /** No route, no such host, no local address of that family. */
  | 'unreachable'
  /** This host is out of descriptors, ports or memory; it shows nothing about the remote side. */
  | 'local'
  /** Handshake or certificate failed, or TLS is required and not offered. */
  | 'tls'
  /** The remote side broke the protocol: unreadable, oversized, unexpected or injected replies. */
  | 'protocol'
  /** This side ended it: the hook refused the final dot, or the connection was destroyed. */
  | 'aborted'
  /** This side needed the slot while the server was silent, within its time limit. */
  | 'cut-short'
  /** The message exceeds the advertised SIZE; nothing was sent. */
  | 'too-large'
  /** The message or the login needs an extension that is not offered; nothing was sent. */
  | 'unsupported'
  /** Credentials were not sent because the connection is not encrypted. */
  | 'insecure';

interface Conversation {
  readonly hostName: string;
  /** True when the conversation was encrypted at that point. */
  readonly tls: boolean;
  /** What was wrong with opportunistic TLS, so that the mail went in plaintext. */
  readonly tlsFailure?: string;
  readonly trace?: ConversationTrace;
}

/** 2xx after the final dot: the remote side has taken responsibility. */
export interface SmtpAccepted extends Conversation {
  readonly kind: 'accepted';
  readonly reply: SmtpReply;
}

/** A definite 4xx or 5xx: the message was not taken. */
export interface SmtpRejected extends Conversation {
  readonly kind: 'rejected';
  readonly phase: SmtpPhase;
  readonly reply: SmtpReply;
}

/** No definite reply. Safe to repeat unless `afterFinalDot`. */
export interface SmtpFailed extends Conversation {
  readonly kind: 'failed';
  readonly phase: SmtpPhase;
  readonly cause: SmtpFailureCause;
  /** True once the final dot may have left this side: the message may or may not have been taken. */
  readonly afterFinalDot: boolean;
  /** For the operator; English, printable. */
  readonly detail: string;
  /** The last reply, when there was one and it had a meaning. */
  readonly reply?: SmtpReply;
  /** Status that this side assigns (RFC 3463); a 5.x.x is permanent for this host and message. */
  readonly enhancedCode?: string;
  /** Set when opportunistic TLS failed, so that one attempt in plaintext is allowed (RFC 7435). */
  readonly mayRetryInPlaintext?: true;
  /** Set when TLS failed and is demanded: by whom. The mail has not gone in plaintext. */
  readonly heldBackBy?: TlsPolicy;
  readonly tlsFault?: TlsFault;
}

/** How the opening of a connection ended when it did not succeed. */
export type SmtpRefusal = SmtpRejected | SmtpFailed;

/** The result of one message to one recipient. Remote behaviour is always a value, never an exception. */
export type SmtpResult = SmtpAccepted | SmtpRejected | SmtpFailed;

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

const MAX_LINE_CHARACTERS = 500;
const MAX_LINES = 20;

/** A result in the shape of outcomes. */
export function toSmtpFacts(result: SmtpResult): SmtpFacts {
  const { reply } = result;
  const enhancedCode = reply?.enhancedCode ?? (result.kind === 'failed' ? result.enhancedCode : undefined);
  const phase = result.kind === 'accepted' ? 'final' : result.phase;
  const facts: Mutable<SmtpFacts> = reply ? { code: reply.code, response: cut(lastLine(reply)) } : {};
  if (reply && reply.lines.length > 1) facts.lines = keptLines(reply);
  if (enhancedCode !== undefined) facts.enhancedCode = enhancedCode;
  facts.mxHost = result.hostName;
  facts.tls = result.tls;
  facts.phase = phase;
  return Object.assign(facts, tlsFacts(result));
}

/** What went wrong with encryption. */
function tlsFacts(result: SmtpResult): Pick<SmtpFacts, 'tlsFailure' | 'policy' | 'tlsFault'> {
  const { tlsFailure } = result;
  if (result.kind === 'failed' && result.heldBackBy !== undefined) {
    return { policy: result.heldBackBy, ...(result.tlsFault && { tlsFault: result.tlsFault }) };
  }
  return tlsFailure === undefined ? {} : { tlsFailure };
}

/** The first lines and the last: the first ones hold the cause, the last one is what `response` shows. */
function keptLines(reply: SmtpReply): string[] {
  const lines = wholeLines(reply).map(cut);
  return lines.length <= MAX_LINES ? lines : [...lines.slice(0, MAX_LINES - 1), ...lines.slice(-1)];
}

function cut(line: string): string {
  return line.slice(0, MAX_LINE_CHARACTERS);
}

/** Why a connection cannot be used any more; the caller adds the phase. */
export interface WireFault {
  readonly cause: SmtpFailureCause;
  readonly detail: string;
  /** Set when encryption failed. */
  readonly tlsFault?: TlsFault;
}

const CAUSES: Readonly<Record<string, SmtpFailureCause>> = {
  ECONNREFUSED: 'refused',
  ECONNRESET: 'reset',
  ECONNABORTED: 'reset',
  EPIPE: 'closed',
  ETIMEDOUT: 'timeout',
  EMFILE: 'local',
  ENFILE: 'local',
  ENOBUFS: 'local',
  ENOMEM: 'local',
};

const MAX_DETAIL_CHARACTERS = 300;
/** Of OpenSSL: a thread, a number, library, function and reason, and a place in its source. */
const OPENSSL_ERROR = /^[0-9A-F]{1,32}:error:[0-9A-F]{1,16}:([^:]{1,100}):[^:]{0,100}:([^:]{1,200}):.*$/s;

/** The cause of a socket error. Codes of TLS, routing and look-ups are too many to list, so each is the default of its kind. */
export function faultOf(error: NodeJS.ErrnoException & { address?: string }, usesTls: boolean): WireFault {
  const code = error.code ?? '';
  // A connection attempt to several addresses fails with an AggregateError, whose message is empty.
  const detail = error.message.replace(OPENSSL_ERROR, '$1: $2') || code;
  // Errors of TLS quote the remote side's certificate.
  return {
    cause: CAUSES[code] ?? (isOutOfPorts(error) ? 'local' : usesTls ? 'tls' : 'unreachable'),
    detail: printable(detail.slice(0, MAX_DETAIL_CHARACTERS)),
    ...(usesTls && { tlsFault: tlsFaultOf(code) }),
  };
}

const NOT_TRUSTED = /^(?:DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|CERT_UNTRUSTED|CERT_REJECTED|INVALID_CA)/;

/** @param code of a failed check of a certificate, or any other */
export function tlsFaultOf(code: string): TlsFault {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return 'certificate-host-mismatch';
  if (code === 'CERT_HAS_EXPIRED') return 'certificate-expired';
  return NOT_TRUSTED.test(code) ? 'certificate-not-trusted' : 'validation-failure';
}

/** No local port is left. For an IPv6 address: this host has none, and IPv4 may still work. */
function isOutOfPorts({ code, address = '' }: NodeJS.ErrnoException & { address?: string }): boolean {
  return code === 'EADDRNOTAVAIL' && !address.includes(':');
}

/** The other side ended the connection in the regular way. */
export const CLOSED: WireFault = { cause: 'closed', detail: 'The server closed the connection' };

export const ABORTED: WireFault = { cause: 'aborted', detail: 'The connection was closed on this side' };

/** The other side is slow, and others wait for the slot. */
export const CUT_SHORT: WireFault = { cause: 'cut-short', detail: 'The server was silent while other mail waited' };

/** @param found what was wrong with the remote side's bytes. */
export function protocolFault(found: string): WireFault {
  return { cause: 'protocol', detail: `The server does not keep to SMTP: ${found}` };
}
