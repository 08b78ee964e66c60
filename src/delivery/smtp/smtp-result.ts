import type { ConversationTrace, SmtpPhase, TlsFault, TlsPolicy } from '../ports/attempt-trace';
import type { SmtpFacts } from '../ports/outcome';
import { lastLine, wholeLines } from './smtp-reply';
import type { SmtpReply } from './smtp-reply';

/** Why a conversation ended without a reply to act on. */
export type SmtpFailureCause =
  /** A time limit of `SMTP_TIMEOUTS` passed. */
  | 'timeout'
  /** The remote side closed the connection. */
  | 'closed'
  /** The remote side reset the connection. */
  | 'reset'
  /** Nothing listens there. */
  | 'refused'
  /** No route, no such host, no local address of that family. */
  | 'unreachable'
  /** This host is out of descriptors, ports or memory; nothing was learned of the remote side. */
  | 'local'
  /** Handshake or certificate failed, or TLS is required and not offered. */
  | 'tls'
  /** The remote side broke the protocol: unreadable, oversized, unexpected or injected replies. */
  | 'protocol'
  /** This side gave up: the hook refused the final dot, or the connection was destroyed. */
  | 'aborted'
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
  /** The reply that led here, when one did. */
  readonly reply?: SmtpReply;
  /** Status that this side assigns (RFC 3463); a 5.x.x is permanent for this host and message. */
  readonly enhancedCode?: string;
  /** Set when opportunistic TLS failed, so that one attempt in plaintext is allowed (RFC 7435). */
  readonly mayRetryInPlaintext?: true;
  /** Set when TLS failed and is demanded: by whom. The mail has not gone in plaintext. */
  readonly heldBackBy?: TlsPolicy;
  /** Beside `heldBackBy`. */
  readonly tlsFault?: TlsFault;
}

/** How the opening of a connection ended when it did not succeed. */
export type SmtpRefusal = SmtpRejected | SmtpFailed;

/** What became of one message to one recipient. Remote behaviour is always a value, never an exception. */
export type SmtpResult = SmtpAccepted | SmtpRejected | SmtpFailed;

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

const MAX_LINE_CHARACTERS = 500;
const MAX_LINES = 20;

/** A result in the shape in which outcomes carry it. */
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

/** The first lines and the last: the one says what happened, the other is what `response` shows. */
function keptLines(reply: SmtpReply): string[] {
  const lines = wholeLines(reply).map(cut);
  return lines.length <= MAX_LINES ? lines : [...lines.slice(0, MAX_LINES - 1), ...lines.slice(-1)];
}

function cut(line: string): string {
  return line.slice(0, MAX_LINE_CHARACTERS);
}
