/**
 * Where in the way of a mail to its next hop something happened, in order; the one vocabulary of results, events, rules
 * and metrics. `dns`: finding the hosts. `greeting`: banner and EHLO. `tls`: STARTTLS and the handshake. `auth`: our
 * log-in at a relay. `data`: DATA and the message up to, not including, the final dot. `final`: the final dot and its reply.
 */
export const SMTP_PHASES = ['dns', 'connect', 'greeting', 'tls', 'auth', 'mail', 'rcpt', 'data', 'final'] as const;

export type SmtpPhase = (typeof SMTP_PHASES)[number];

/** The phase of that name; undefined of anything else. */
export function toPhase(name: unknown): SmtpPhase | undefined {
  return SMTP_PHASES.find((phase) => phase === name);
}

/** How much encryption the way to the host demanded. */
export const TLS_POLICIES = ['none', 'opportunistic', 'mta-sts', 'dane', 'required'] as const;

export type TlsPolicy = (typeof TLS_POLICIES)[number];

/** What was wrong with the encryption of a connection, in the words of RFC 8460 section 4.3.1. */
export type TlsFault =
  | 'starttls-not-supported'
  | 'certificate-host-mismatch'
  | 'certificate-expired'
  | 'certificate-not-trusted'
  | 'validation-failure';

/** What a connection is encrypted with, and whether the certificate proves the host: if not, why. */
export interface Encryption {
  readonly version: string;
  readonly cipher: string;
  readonly verified: boolean;
  readonly fault?: TlsFault | undefined;
}

/** Milliseconds of each phase; phases not reached are absent. */
export type PhaseTimes = Readonly<Partial<Record<SmtpPhase, number>>>;

/** Facts of a conversation, whatever its result; of several within an attempt, the last. */
export interface ConversationTrace {
  readonly route: {
    readonly address: string;
    readonly port: number;
    /** The address that it left from, and the pool which that is of. */
    readonly source?: string | undefined;
    readonly pool?: string | undefined;
  };
  readonly tls?: Encryption | undefined;
  readonly policy: TlsPolicy;
  readonly phasesMs: PhaseTimes;
}

/** One attempt, besides its outcome: never a body, a personal address or a secret. */
export interface AttemptTrace extends Partial<ConversationTrace> {
  readonly startedAt: Date;
  readonly durationMs: number;
  /** What the rule of the reply called for. */
  readonly action?: string | undefined;
}
