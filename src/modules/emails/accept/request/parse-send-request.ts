import { DAY, MINUTE, SECOND } from '../../../../common/clock';
import { type FieldErrors, ValidationError } from '../../../../common/errors/app-error';
import { isLongerThan } from '../../../../common/values';
import { CONTROL_CHARACTER, FieldReader } from './field-reader';
import { isIdempotencyKey } from './idempotency';
import { readRecipients, readReplyTo, readSender, readTemplate } from './parse-send-fields';
import { type DecodedContents, readAttachments } from './parse-attachments';
import { readHeaders } from './parse-headers';
import type { SendRequest } from './send-request';

const MAX_SUBJECT = 998;
const MAX_HTML_BYTES = 5 * 1024 * 1024;
const MAX_TEXT_BYTES = 1024 * 1024;
const MAX_TAGS = 10;
const TAG = { min: 1, max: 100 };
const METADATA = { maxBytes: 8 * 1024, maxDepth: 5 };
const SCHEDULE_MS = { min: MINUTE, max: 30 * DAY };
/** Allowance for the time that a request takes to arrive: one minute ahead counts from when the client sent it. */
const UNDER_WAY_MS = SECOND;

/** Every field of a send request; the OpenAPI model is checked against this list. */
export const SEND_REQUEST_FIELDS: ReadonlySet<string> = new Set([
  ...['from', 'to', 'cc', 'bcc', 'replyTo', 'subject', 'html', 'text', 'headers', 'attachments', 'tags', 'metadata'],
  ...['scheduledAt', 'expiresAt', 'tracking', 'category', 'idempotencyKey', 'template'],
]);

export type ParsedSendRequest = { ok: true; request: SendRequest } | { ok: false; error: ValidationError };

/** Only the times of the request are wrong; it may have been accepted while they were right, under its idempotency key. */
export class UntimelyError extends ValidationError {
  constructor(
    errors: FieldErrors,
    readonly request: SendRequest,
  ) {
    super(errors);
  }
}

/** What a request says, whether or not its times are right. */
export function fieldsOf(request: SendRequest | UntimelyError): SendRequest {
  return request instanceof UntimelyError ? request.request : request;
}

/**
 * Validates and normalizes one email of `POST /v1/emails` or of a batch: first field by field, then rules over several fields.
 * All errors are collected.
 * @param reader which collects the errors
 * @param decoded contents of attachments that are decoded already
 * @throws AppError payload_too_large
 */
export function parseSendRequest(
  body: unknown,
  now: Date,
  reader = new FieldReader(),
  decoded: DecodedContents = new Map(),
): ParsedSendRequest {
  const given = reader.object(body, 'body');
  if (!given) return { ok: false, error: new ValidationError(reader.errors) };
  reader.unknownFields(given, SEND_REQUEST_FIELDS);
  const request: SendRequest = {
    from: readSender(reader, given.from),
    recipients: readRecipients(reader, given),
    replyTo: readReplyTo(reader, given.replyTo),
    subject: given.template === undefined ? readSubject(reader, given.subject) : '',
    html: reader.optionalText(given.html, 'html', MAX_HTML_BYTES),
    text: reader.optionalText(given.text, 'text', MAX_TEXT_BYTES),
    template: readTemplate(reader, given),
    headers: readHeaders(reader, given.headers),
    attachments: readAttachments(reader, given.attachments, decoded),
    tags: readTags(reader, given.tags),
    metadata: readMetadata(reader, given.metadata),
    scheduledAt: reader.optionalTimestamp(given.scheduledAt, 'scheduledAt'),
    expiresAt: reader.optionalTimestamp(given.expiresAt, 'expiresAt'),
    tracking: readTracking(reader, given.tracking),
    category: readCategory(reader, given.category),
    idempotencyKey: readIdempotencyKey(reader, given.idempotencyKey),
  };
  // A value of another type has an error of its own.
  const isEmpty = [given.html, given.text].every((value) => value === undefined || value === '');
  if (isEmpty && given.template === undefined) reader.add('html', 'or text must be given');
  const error = problemOf(reader, request, now);
  return error ? { ok: false, error } : { ok: true, request };
}

/** The error of a request whose fields have been read, with those of its times; undefined for one that is valid. */
export function problemOf(reader: FieldReader, request: SendRequest, now: Date): ValidationError | undefined {
  const isInvalid = reader.failed;
  checkTimes(reader, request, now);
  if (isInvalid) return new ValidationError(reader.errors);
  return reader.failed ? new UntimelyError(reader.errors, request) : undefined;
}

/** Reads the fields that all kinds of email have; `problemOf` checks the time. */
export function readOptions(
  reader: FieldReader,
  given: Record<string, unknown>,
): Pick<SendRequest, 'tags' | 'metadata' | 'scheduledAt' | 'category' | 'idempotencyKey'> {
  return {
    tags: readTags(reader, given.tags),
    metadata: readMetadata(reader, given.metadata),
    scheduledAt: reader.optionalTimestamp(given.scheduledAt, 'scheduledAt'),
    category: readCategory(reader, given.category),
    idempotencyKey: readIdempotencyKey(reader, given.idempotencyKey),
  };
}

function readSubject(reader: FieldReader, value: unknown): string {
  if (value === undefined) {
    reader.add('subject', 'is required');
    return '';
  }
  const subject = reader.text(value, 'subject', { min: 1, max: MAX_SUBJECT }) ?? '';
  if (CONTROL_CHARACTER.test(subject)) reader.add('subject', 'must not contain line breaks or control characters');
  return subject;
}

function readTags(reader: FieldReader, value: unknown): string[] {
  const tags = reader.list(value, 'tags', MAX_TAGS).map((tag, index) => reader.text(tag, `tags[${index}]`, TAG) ?? '');
  return [...new Set(tags)];
}

function readMetadata(reader: FieldReader, value: unknown): Record<string, unknown> | undefined {
  if (value === undefined) return undefined;
  const metadata = reader.object(value, 'metadata');
  if (!metadata) return undefined;
  if (depthOf(metadata, METADATA.maxDepth) > METADATA.maxDepth) {
    reader.add('metadata', `must be at most ${METADATA.maxDepth} levels deep`);
  } else if (isLongerThan(metadata, METADATA.maxBytes)) {
    reader.add('metadata', `must be at most ${METADATA.maxBytes} bytes of JSON`);
  }
  return metadata;
}

/** The depth of objects and arrays; stops counting beyond `limit`. */
function depthOf(value: unknown, limit: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (limit === 0) return 1;
  return 1 + Math.max(0, ...Object.values(value).map((child) => depthOf(child, limit - 1)));
}

const TRACKING_FIELDS = new Set(['opens', 'clicks']);

function readTracking(reader: FieldReader, value: unknown): SendRequest['tracking'] {
  const given = value === undefined ? {} : (reader.object(value, 'tracking') ?? {});
  reader.unknownFields(given, TRACKING_FIELDS, 'tracking');
  return {
    opens: reader.optionalBoolean(given.opens, 'tracking.opens'),
    clicks: reader.optionalBoolean(given.clicks, 'tracking.clicks'),
  };
}

function readCategory(reader: FieldReader, value: unknown = 'transactional'): SendRequest['category'] {
  if (value === 'transactional' || value === 'bulk') return value;
  reader.add('category', 'must be transactional or bulk');
  return 'transactional';
}

function readIdempotencyKey(reader: FieldReader, value: unknown): string | undefined {
  if (value === undefined || isIdempotencyKey(value)) return value;
  reader.add('idempotencyKey', 'must be 1 to 255 printable ASCII characters');
  return undefined;
}

type Times = Pick<SendRequest, 'scheduledAt' | 'expiresAt'>;

/** Whether a time is 1 minute to 30 days ahead of the request. */
export function isSchedulable(time: Date, now: Date): boolean {
  const ahead = time.getTime() - now.getTime();
  return ahead >= SCHEDULE_MS.min - UNDER_WAY_MS && ahead <= SCHEDULE_MS.max;
}

function checkTimes(reader: FieldReader, { scheduledAt, expiresAt }: Times, now: Date): void {
  if (scheduledAt && !isSchedulable(scheduledAt, now)) {
    reader.add('scheduledAt', 'must be 1 minute to 30 days ahead');
  }
  if (expiresAt && expiresAt <= (scheduledAt ?? now)) {
    reader.add('expiresAt', `must be after ${scheduledAt ? 'scheduledAt' : 'now'}`);
  }
}
