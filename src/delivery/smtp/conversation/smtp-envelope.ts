import { AppError } from '../../../common/errors/app-error';
import type { SmtpReply } from './smtp-reply';

/** What the EHLO reply offers, as far as this client uses it. */
export interface SmtpCapabilities {
  /** False after HELO: a server that refuses EHLO for the moment may offer more than nothing. */
  readonly isExtended: boolean;
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
  isExtended: false,
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
    isExtended: true,
    pipelining: offered.has('PIPELINING'),
    eightBitMime: offered.has('8BITMIME'),
    smtpUtf8: offered.has('SMTPUTF8'),
    dsn: offered.has('DSN'),
    startTls: offered.has('STARTTLS'),
    sizeLimit: readSize(offered.get('SIZE')),
    authMechanisms: new Set(offered.get('AUTH')),
  };
}

/** An unreadable limit counts as none: the server will refuse by itself. */
function readSize(parameters: readonly string[] | undefined): number | undefined {
  if (parameters === undefined) return undefined;
  return /^\d{1,15}$/.test(parameters[0] ?? '') ? Number(parameters[0]) : 0;
}

/** The envelope of one transaction: one sender, one recipient. */
export interface SmtpEnvelope {
  /** Return path; empty for the null sender. */
  readonly from: string;
  readonly recipient: string;
  /** Bytes of the message, for SIZE (RFC 1870). */
  readonly size: number;
  /** True when an address or a header needs SMTPUTF8 (RFC 6531). */
  readonly smtpUtf8: boolean;
  /** True when the message has bytes over 0x7f (RFC 6152). */
  readonly eightBit: boolean;
  /** Set to ask a relay for notifications of success and failure, which will name it (RFC 3461). */
  readonly envelopeId?: string;
}

/** Far over what RFC 5321 section 4.5.3.1.3 allows (256), far under what a command line may hold. */
const MAX_ADDRESS_CHARACTERS = 320;
const BARE_PATH = /^[^\u0000-\u0020"<>\\\u007f]+$/;
const QUOTED_PATH = /^"(?:[^\u0000-\u001f"\\\u007f]|\\[\u0020-\u007e])*"@[^\u0000-\u0020"<>\\\u007f]+$/;
const NON_ASCII = /[^\u0000-\u007f]/;

/**
 * Refuses addresses that could end or extend a command. They were validated when the email was accepted, so this is a
 * second line of defence.
 *
 * @throws AppError on CR, LF, NUL, other controls, angle brackets or a space outside quotes, or non-ASCII characters
 * without `smtpUtf8`, whose encoding in Latin-1 could produce a line feed (U+010A).
 */
export function assertSafeEnvelope(envelope: SmtpEnvelope): void {
  const fromIsSafe = envelope.from === '' || isSafeAddress(envelope.from, envelope.smtpUtf8);
  if (fromIsSafe && isSafeAddress(envelope.recipient, envelope.smtpUtf8)) return;
  throw new AppError('internal_error', 'An envelope address is not safe to send');
}

function isSafeAddress(address: string, smtpUtf8: boolean): boolean {
  if (address.length > MAX_ADDRESS_CHARACTERS) return false;
  if (!BARE_PATH.test(address) && !QUOTED_PATH.test(address)) return false;
  return smtpUtf8 || !NON_ASCII.test(address);
}

/** `MAIL FROM` with the parameters that are needed and offered. */
export function mailCommand(envelope: SmtpEnvelope, offered: SmtpCapabilities): string {
  let command = `MAIL FROM:<${envelope.from}>`;
  if (offered.sizeLimit !== undefined) command += ` SIZE=${envelope.size}`;
  if (envelope.eightBit && offered.eightBitMime) command += ' BODY=8BITMIME';
  if (envelope.smtpUtf8) command += ' SMTPUTF8';
  return `${command}${dsnMailParameters(envelope.envelopeId, offered)}\r\n`;
}

/** `RCPT TO`, likewise. */
export function rcptCommand({ recipient, envelopeId }: SmtpEnvelope, offered: SmtpCapabilities): string {
  return `RCPT TO:<${recipient}>${dsnRcptParameters(envelopeId, recipient, offered)}\r\n`;
}

/** Why this host cannot take the message, by its EHLO reply. */
export interface LocalRefusal {
  readonly cause: 'too-large' | 'unsupported';
  readonly enhancedCode: string;
  readonly detail: string;
}

/** Spares a transaction whose refusal is certain. */
export function findLocalRefusal(envelope: SmtpEnvelope, offered: SmtpCapabilities): LocalRefusal | undefined {
  const limit = offered.sizeLimit ?? 0;
  // RFC 1870 section 3: zero means no fixed limit.
  if (limit > 0 && envelope.size > limit) {
    const detail = `${envelope.size} bytes exceed the SIZE of ${limit} that the server advertises`;
    return { cause: 'too-large', enhancedCode: '5.3.4', detail };
  }
  if (envelope.smtpUtf8 && !offered.smtpUtf8) return missing('6.7', 'SMTPUTF8', offered);
  if (envelope.eightBit && !offered.eightBitMime) return missing('6.3', '8BITMIME', offered);
  return undefined;
}

/** Permanent only if the server has said what it offers. */
function missing(detail: string, extension: string, { isExtended }: SmtpCapabilities): LocalRefusal {
  const what = isExtended
    ? `The server does not offer ${extension}`
    : `The server refused EHLO, so ${extension} is not offered`;
  return { cause: 'unsupported', enhancedCode: `${isExtended ? 5 : 4}.${detail}`, detail: what };
}

/** RFC 3461 section 4.2: an original recipient longer than this must not be sent. */
const MAX_ORIGINAL_RECIPIENT = 500;
const PRINTABLE_ASCII = /^[\u0020-\u007e]*$/;
/** What stands for itself in xtext: printable ASCII but for the space, `+` and `=`. */
const TO_ESCAPE = /[^!-*,-<>-~]/g;

/** ASCII as an ESMTP parameter's value (RFC 3461 section 4): what may not stand there becomes `+` and two hex digits. */
export function toXtext(text: string): string {
  return text.replace(TO_ESCAPE, (character) => {
    return `+${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
  });
}

/**
 * ` RET=HDRS ENVID=…` for MAIL (RFC 3461 sections 4.3 and 4.4): a notification names the email and brings its header
 * only. Empty when none is wanted or the server does not offer it.
 */
export function dsnMailParameters(envelopeId: string | undefined, offered: SmtpCapabilities): string {
  if (envelopeId === undefined || !offered.dsn) return '';
  return ` RET=HDRS ENVID=${toXtext(envelopeId)}`;
}

/**
 * ` NOTIFY=SUCCESS,FAILURE ORCPT=…` for RCPT (sections 4.1 and 4.2). An address that is not ASCII has another form of ORCPT
 * (RFC 6533 section 3), which few relays support; the parameter is optional and left out.
 */
export function dsnRcptParameters(
  envelopeId: string | undefined,
  recipient: string,
  offered: SmtpCapabilities,
): string {
  if (envelopeId === undefined || !offered.dsn) return '';
  const original = PRINTABLE_ASCII.test(recipient) ? `rfc822;${toXtext(recipient)}` : '';
  const isFit = original !== '' && original.length <= MAX_ORIGINAL_RECIPIENT;
  return ` NOTIFY=SUCCESS,FAILURE${isFit ? ` ORCPT=${original}` : ''}`;
}
