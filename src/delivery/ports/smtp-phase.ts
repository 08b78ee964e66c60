/**
 * Where in the way of a mail to its next hop something happened, in order; the one vocabulary of results, events, rules
 * and metrics. `dns`: finding the hosts. `greeting`: banner and EHLO. `tls`: STARTTLS and the handshake. `auth`: our
 * log-in at a relay. `data`: DATA and the message up to, not including, the final dot. `final`: the final dot and its reply.
 */
export const SMTP_PHASES = ['dns', 'connect', 'greeting', 'tls', 'auth', 'mail', 'rcpt', 'data', 'final'] as const;

export type SmtpPhase = (typeof SMTP_PHASES)[number];

/** Names that events stored before carry. */
export const FORMER_PHASES: ReadonlyMap<string, SmtpPhase> = new Map<string, SmtpPhase>([
  ['routing', 'dns'],
  ['banner', 'greeting'],
  ['ehlo', 'greeting'],
  ['helo', 'greeting'],
  ['starttls', 'tls'],
  ['body', 'data'],
  ['dot', 'final'],
  ['final-dot', 'final'],
]);

/** A stored phase under its present name; undefined when it never was one. */
export function readPhase(stored: unknown): SmtpPhase | undefined {
  return SMTP_PHASES.find((phase) => phase === stored) ?? FORMER_PHASES.get(String(stored));
}

/** An event's data as the API returns it: with the present name of its phase. */
export function withPresentPhase<Data extends Readonly<Record<string, unknown>>>(data: Data): Data {
  const phase = readPhase(data.phase);
  return phase === undefined || phase === data.phase ? data : { ...data, phase };
}
