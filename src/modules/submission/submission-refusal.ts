import type { SMTPServerOptions } from 'smtp-server';
import { DiskFullError } from '../../common/disk-space';
import { AppError, type ErrorCode, ValidationError } from '../../common/errors/app-error';
import { BulkSmtpServer } from '../../common/smtp/bulk-smtp-server';
import { InvalidSenderError } from '../emails/accept/send-raw.service';

/** Why something was refused; the label of a metric. */
export type SubmissionRefusalReason =
  | ('authentication' | 'locked' | 'connections' | 'no-tls' | 'limit' | 'sender')
  | ('suppressed' | 'address' | 'form' | 'too-large' | 'no-room' | 'key' | 'unavailable');

/** A reply other than 2xx, 3xx. Its text starts with the enhanced code (RFC 3463). */
export class SubmissionRefusal extends Error {
  constructor(
    readonly reason: SubmissionRefusalReason,
    readonly responseCode: number,
    text: string,
  ) {
    super(text);
    this.name = 'SubmissionRefusal';
  }
}

const refuse = (reason: SubmissionRefusalReason, code: number, text: string) =>
  new SubmissionRefusal(reason, code, text);

export const tooManySessions = () => refuse('connections', 421, '4.7.0 Too many connections, try again later');
export const locked = () => refuse('locked', 421, '4.7.0 Too many failed logins from your address, try again later');
export const loginTooLate = () => refuse('authentication', 421, '4.7.0 Log in sooner');
export const keyEnded = () => refuse('key', 421, '4.7.0 The API key of this session is no longer valid');
export const stopping = () => refuse('unavailable', 421, '4.3.2 The service is stopping, try again');
export const dataTooSlow = () => refuse('connections', 421, '4.4.2 The message takes too long');
export const tlsNeeded = () => refuse('no-tls', 530, '5.7.0 Must issue a STARTTLS command first');
export const loginNeeded = () => refuse('authentication', 530, '5.7.0 Authentication required');
export const loginUnavailable = () => refuse('unavailable', 454, '4.7.0 Temporary authentication failure');
export const badAddress = (what: string) => refuse('address', 553, `5.1.3 The address ${what}`);
export const tooLarge = () => refuse('too-large', 552, '5.3.4 The message exceeds 25 MiB');
export const farTooLarge = () => refuse('too-large', 421, '4.3.4 The message is far too large');
export const noRoom = () => refuse('no-room', 452, '4.3.1 No room for the message now, try again later');
export const bareLineEnds = () =>
  refuse('form', 550, '5.6.0 The message has a CR or LF that stands alone: lines must end with CRLF');

/** A login that is refused: why, in the words of the API. */
export function loginRefused(text: string): SubmissionRefusal {
  return refuse('authentication', 535, `5.7.8 ${text}`);
}

/** The service's result for a message, as a reply. */
export function replyTo(error: unknown): SubmissionRefusal {
  if (error instanceof SubmissionRefusal) return error;
  if (error instanceof DiskFullError) return noRoom();
  if (error instanceof InvalidSenderError) return refuse('sender', 550, `5.7.1 ${firstOf(error)}`);
  if (error instanceof ValidationError) return refuse('form', 550, `5.6.0 ${firstOf(error)}`);
  return error instanceof AppError ? ofCode(error) : unavailable();
}

/** All else is for later. */
const BY_CODE: Partial<Record<ErrorCode, readonly [SubmissionRefusalReason, number, string]>> = {
  recipient_suppressed: ['suppressed', 550, '5.7.1'],
  domain_not_verified: ['sender', 550, '5.7.1'],
  domain_not_allowed: ['sender', 550, '5.7.1'],
  idempotency_key_reused: ['form', 550, '5.7.1'],
  rate_limit_exceeded: ['limit', 450, '4.7.1'],
  sending_limit_exceeded: ['limit', 450, '4.7.1'],
  payload_too_large: ['too-large', 552, '5.3.4'],
};

function ofCode({ code, message }: AppError): SubmissionRefusal {
  const [reason, responseCode, enhanced] = BY_CODE[code] ?? [];
  return reason && responseCode ? refuse(reason, responseCode, `${enhanced} ${message}`) : unavailable();
}

function unavailable(): SubmissionRefusal {
  return refuse('unavailable', 451, '4.3.0 The service is temporarily unavailable');
}

/** The first sentence, as a message's own fields are called. */
function firstOf({ details }: ValidationError): string {
  const [messages = []] = Object.values((details?.validation ?? {}) as Record<string, string[]>);
  return (messages[0] ?? 'is not valid').replace(/^raw /, 'The message ');
}

const UNKNOWN_COMMAND = 500;
/** A reply that names its own enhanced code (RFC 3463). */
const HAS_CODE = /^[245]\.\d{1,3}\.\d{1,3} /;

/**
 * The library's server with correct enhanced codes (RFC 2034): it puts the same one before all replies of a code, but our 550
 * may be 5.7.1 or 5.6.0. A text that starts with a code keeps it. A login without TLS gets what MAIL gets there: for the library, the
 * command does not exist.
 */
export class EnhancedSmtpServer extends BulkSmtpServer {
  constructor(options: SMTPServerOptions) {
    super({ ...options, hideENHANCEDSTATUSCODES: false });
  }

  protected override adopt(connection: Parameters<BulkSmtpServer['adopt']>[0]): void {
    super.adopt(connection);
    const send = connection.send.bind(connection);
    connection.send = (code, data, context) => {
      if (code === UNKNOWN_COMMAND && context === 'AUTH') return send(530, tlsNeeded().message, false);
      const hasOwn = typeof data === 'string' && HAS_CODE.test(data);
      send(code, data, hasOwn ? false : context);
    };
  }

  /** Ends the connection of a session with 421. */
  cut(sessionId: string, text: string): void {
    for (const connection of this.connections) {
      if (connection.session.id === sessionId) connection.send(421, text);
    }
  }
}
