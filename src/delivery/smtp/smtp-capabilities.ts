import type { SmtpReply } from './smtp-reply';

/** What the EHLO reply offers, as far as this client uses it. */
export interface SmtpCapabilities {
  readonly pipelining: boolean;
  readonly eightBitMime: boolean;
  readonly smtpUtf8: boolean;
  /** Delivery status notifications on request (RFC 3461). */
  readonly dsn: boolean;
  readonly startTls: boolean;
  /** Set when SIZE is offered: the largest message in bytes, 0 for no fixed limit (RFC 1870). */
  readonly sizeLimit: number | undefined;
  /** Mechanisms in upper case. */
  readonly authMechanisms: ReadonlySet<string>;
}

/** Before EHLO, after HELO, and after STARTTLS until the next EHLO (RFC 3207 section 4.2). */
export const NO_CAPABILITIES: SmtpCapabilities = {
  pipelining: false,
  eightBitMime: false,
  smtpUtf8: false,
  dsn: false,
  startTls: false,
  sizeLimit: undefined,
  authMechanisms: new Set(),
};

/** Reads an EHLO reply; keywords are case-insensitive, unknown ones are passed over. The first line is the greeting. */
export function readCapabilities(reply: SmtpReply): SmtpCapabilities {
  const offered = new Map<string, string[]>();
  for (const line of reply.lines.slice(1)) {
    // `AUTH=LOGIN` is the form of some servers from before RFC 2554.
    const [keyword = '', ...parameters] = line
      .toUpperCase()
      .replace(/^AUTH=/, 'AUTH ')
      .split(/ +/);
    offered.set(keyword, [...(offered.get(keyword) ?? []), ...parameters]);
  }
  return {
    pipelining: offered.has('PIPELINING'),
    eightBitMime: offered.has('8BITMIME'),
    smtpUtf8: offered.has('SMTPUTF8'),
    dsn: offered.has('DSN'),
    startTls: offered.has('STARTTLS'),
    sizeLimit: readSize(offered.get('SIZE')),
    authMechanisms: new Set(offered.get('AUTH')),
  };
}

/** An unreadable limit counts as none: the server will say so itself. */
function readSize(parameters: readonly string[] | undefined): number | undefined {
  if (parameters === undefined) return undefined;
  return /^\d{1,15}$/.test(parameters[0] ?? '') ? Number(parameters[0]) : 0;
}
