import type { Encryption, TlsPolicy } from '../ports/attempt-trace';
import type { RecordedOutcome, SmtpFacts } from '../ports/outcome';

/**
 * What the encryption of an attempt came to. `plaintext`: none was offered. `broken`: it was offered and failed, and the mail
 * went in plaintext. `held_back`: the mail did not go.
 */
export const TLS_RESULTS = ['verified', 'encrypted', 'plaintext', 'broken', 'held_back'] as const;

export type TlsResult = (typeof TLS_RESULTS)[number];

/** Older ones are not spoken. */
export const TLS_VERSIONS = ['none', 'TLSv1.2', 'TLSv1.3'] as const;

export interface TlsState {
  readonly policy: TlsPolicy;
  /** As `TLSv1.3`; `none` without encryption. */
  readonly version: string;
  readonly result: TlsResult;
}

/** Undefined for what did not get so far that it shows. */
export function tlsStateOf({ outcome, trace }: Pick<RecordedOutcome, 'outcome' | 'trace'>): TlsState | undefined {
  const smtp = 'smtp' in outcome ? outcome.smtp : undefined;
  if (smtp === undefined) return undefined;
  if (smtp.policy !== undefined) return { policy: smtp.policy, version: 'none', result: 'held_back' };
  return trace?.policy && ofConversation(smtp, trace.policy, trace.tls);
}

function ofConversation(smtp: SmtpFacts, policy: TlsPolicy, tls: Encryption | undefined): TlsState | undefined {
  if (tls) return { policy, version: tls.version, result: tls.verified ? 'verified' : 'encrypted' };
  if (smtp.tlsFailure !== undefined) return { policy, version: 'none', result: 'broken' };
  return EARLY.has(smtp.phase ?? '') ? undefined : { policy, version: 'none', result: 'plaintext' };
}

/** Before it is known whether encryption is offered. */
const EARLY: ReadonlySet<string> = new Set(['', 'dns', 'connect', 'greeting', 'tls']);
