import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { personKey } from '../../../common/address-forms';
import { Clock } from '../../../common/clock';
import { AppError, ValidationError } from '../../../common/errors/app-error';
import { addressKey, parseMailbox } from '../../../common/mail-address';
import { decodeBase64, decodedLength } from '../../../common/mime/transfer-encoding';
import { lineEndsOf, toCrlfInTurns } from '../../../common/mime/line-ends';
import { FieldReader } from './request/field-reader';
import { idempotencyKeyOf } from './request/idempotency';
import { type AcceptedRequest, claim, claimOf, SendEmailsService, type Submitter } from './send-emails.service';
import { MAX_MENTIONS } from './request/parse-send-fields';
import { fieldsOf, problemOf, UntimelyError } from './request/parse-send-request';
import type { SendRequest } from './request/send-request';
import { isFault, MAX_RAW_BYTES, type RawFault, readRawMessage, withFieldBefore } from './raw/raw-message';
import { toSendRequest } from './raw/raw-request';

/** Every field of a request; the OpenAPI model is checked against this list. */
export const SEND_RAW_FIELDS: ReadonlySet<string> = new Set([
  ...['raw', 'to', 'category', 'tags', 'metadata', 'scheduledAt', 'idempotencyKey'],
]);

/** Of envelope recipients, each counted once. */
const MAX_ENVELOPE = 50;
const HTTP_PATH = '/v1/emails/raw';
const SMTP_PATH = 'smtp';

/** A message submitted over SMTP, with its envelope. */
export interface SubmittedMessage {
  /** CRLF line ends only. The buffer is modified. */
  readonly bytes: Buffer;
  /** Normal form, 1 to 50. */
  readonly recipients: readonly string[];
  /** A field `Received` with its line end. The memory before `bytes` is free for it. */
  readonly received: Buffer;
}

/** Accepts complete messages: they are sent unchanged, apart from the signature and some header fields. */
@Injectable()
export class SendRawService {
  constructor(
    private readonly emails: SendEmailsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Accepts the body of `POST /v1/emails/raw`; returns once the email is committed.
   * @throws ValidationError, AppError
   */
  async send(body: unknown, keyHeader: string | undefined, tenant: Submitter): Promise<AcceptedRequest> {
    const reader = new FieldReader();
    const given = reader.object(body, 'body') ?? {};
    reader.unknownFields(given, SEND_RAW_FIELDS);
    const recipients = readEnvelope(reader, given.to);
    const bytes = await readBase64(reader, given.raw, tenant.organizationId);
    if (!bytes) throw new ValidationError(reader.errors);
    const options = Object.fromEntries(Object.entries(given).filter(([name]) => name !== 'raw' && name !== 'to'));
    const request = this.toRequest(reader, { bytes, recipients }, options);
    const key = idempotencyKeyOf(keyHeader, fieldsOf(request).idempotencyKey);
    return this.emails.accept(request, await claimOf(HTTP_PATH, key, body, tenant), tenant);
  }

  /**
   * Accepts a message submitted over SMTP; returns once the email is committed. A client that repeats a mail generates other dates
   * and boundaries, so an idempotency key covers only sender, subject and recipients.
   * @throws ValidationError, AppError; InvalidSenderError when its From is not one address
   */
  submit({ bytes, recipients, received }: SubmittedMessage, tenant: Submitter): Promise<AcceptedRequest> {
    const request = this.toRequest(new FieldReader(), { bytes, recipients }, {});
    const fields = fieldsOf(request);
    const { idempotencyKey: key } = fields;
    const idempotency = key === undefined ? undefined : claim(SMTP_PATH, key, fingerprintOf(fields), tenant);
    const submitted =
      request instanceof UntimelyError
        ? request
        : {
            ...request,
            raw: request.raw && withFieldBefore(request.raw, received, bytes),
            source: 'smtp_submission' as const,
          };
    return this.emails.accept(submitted, idempotency, tenant);
  }

  /** @throws ValidationError for all but wrong times */
  private toRequest(
    reader: FieldReader,
    message: Pick<SubmittedMessage, 'bytes' | 'recipients'>,
    options: Record<string, unknown>,
  ): SendRequest | UntimelyError {
    const read = readRawMessage(message.bytes);
    if (isFault(read)) throw toError(reader, read);
    const request = toSendRequest(reader, read, message.recipients, options);
    const error = problemOf(reader, request, this.clock.now());
    if (error && !(error instanceof UntimelyError)) throw error;
    return error ?? request;
  }
}

/** The From of a message is not one address in one field. */
export class InvalidSenderError extends ValidationError {}

function toError(reader: FieldReader, { fault, message }: RawFault): ValidationError {
  reader.add('raw', message);
  return fault === 'sender' ? new InvalidSenderError(reader.errors) : new ValidationError(reader.errors);
}

function readEnvelope(reader: FieldReader, value: unknown): string[] {
  const unique = new Map<string, string>();
  reader.list(value, 'to', MAX_MENTIONS).forEach((entry, index) => {
    const parsed = parseMailbox(entry);
    if (!parsed.ok) reader.add(`to[${index}]`, parsed.message);
    else unique.set(personKey(parsed.mailbox.email), parsed.mailbox.email);
  });
  if (value === undefined || (Array.isArray(value) && value.length === 0)) {
    reader.add('to', 'must contain at least one recipient');
  }
  if (unique.size > MAX_ENVELOPE) reader.add('to', `must contain at most ${MAX_ENVELOPE} recipients`);
  return [...unique.values()];
}

/**
 * Decodes a message and converts its line ends to CRLF; undefined when it is not valid, which is reported to the reader.
 * @throws AppError payload_too_large
 */
async function readBase64(reader: FieldReader, value: unknown, holder: string): Promise<Buffer | undefined> {
  const isText = typeof value === 'string' && value !== '';
  if (isText && value.length % 4 === 0 && decodedLength(value) > MAX_RAW_BYTES) throw tooLarge();
  const bytes = isText ? await decodeBase64(value, holder) : undefined;
  if (!bytes) {
    reader.add('raw', 'must be a message (RFC 5322) in base64, padded and without line breaks');
    return undefined;
  }
  const lineEnds = await lineEndsOf(bytes, holder);
  if (lineEnds === 'mixed') {
    reader.add('raw', 'must have line ends that are all CRLF, or all LF, and no CR alone');
    return undefined;
  }
  const message = lineEnds === 'lf' ? await toCrlfInTurns(bytes, holder) : bytes;
  if (message.length > MAX_RAW_BYTES) throw tooLarge();
  return message;
}

function tooLarge(): AppError {
  return new AppError('payload_too_large', 'The message exceeds 25 MiB', { details: { maxBytes: MAX_RAW_BYTES } });
}

function fingerprintOf({ from, subject, recipients }: SendRequest): Buffer {
  const addresses = recipients.map(({ email }) => addressKey(email)).sort();
  const same = JSON.stringify([`${from.localPart}@${from.domain ?? ''}`, subject, addresses]);
  return createHash('sha256').update(same).digest();
}
