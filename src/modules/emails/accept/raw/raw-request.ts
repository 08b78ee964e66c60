import PostalMime from 'postal-mime';
import { personKey } from '../../../../common/address-forms';
import { ValidationError } from '../../../../common/errors/app-error';
import { parseJson } from '../../../../common/json/parse-json';
import type { FieldReader } from '../request/field-reader';
import { readOptions } from '../request/parse-send-request';
import type { Recipient, RecipientKind, SendRequest } from '../request/send-request';
import type { RawMessage } from './raw-message';

/** Names of the fields for this service in a message's header, and of the corresponding request fields. */
const OWN_FIELDS: Readonly<Record<string, string>> = {
  category: 'category',
  tags: 'tags',
  metadata: 'metadata',
  schedule: 'scheduledAt',
  'idempotency-key': 'idempotencyKey',
};

/**
 * Creates a send request from the header of a message, for the recipients of its envelope.
 * @param envelope addresses in normal form, each once
 * @param given options from outside the message; they take precedence over those of its header
 */
export function toSendRequest(
  reader: FieldReader,
  message: RawMessage,
  envelope: readonly string[],
  given: Record<string, unknown>,
): SendRequest {
  const { from, subject, replyTo, bytes: raw } = message;
  const at = from.email.lastIndexOf('@');
  return {
    from: { localPart: from.email.slice(0, at), domain: from.email.slice(at + 1), name: from.name },
    recipients: envelope.map((email): Recipient => ({ email, kind: kindOf(email, message) })),
    ...{ replyTo, subject, raw },
    ...{ html: undefined, text: undefined, headers: {}, attachments: [], expiresAt: undefined },
    tracking: { opens: false, clicks: false },
    ...readOptions(reader, { ...fromHeader(reader, message), ...given }),
  };
}

/** A recipient that the header does not contain is a blind recipient. */
function kindOf(email: string, { to, cc }: RawMessage): RecipientKind {
  const key = personKey(email);
  if (to.has(key)) return 'to';
  return cc.has(key) ? 'cc' : 'bcc';
}

function fromHeader(reader: FieldReader, { own }: RawMessage): Record<string, unknown> {
  const options: Record<string, unknown> = {};
  for (const [field, option] of Object.entries(OWN_FIELDS)) {
    const [value, ...others] = own.get(field) ?? [];
    // As a name that a JSON object has twice.
    if (others.length > 0) reader.add(option, 'is given twice');
    else if (value !== undefined && value !== '') options[option] = readOwn(reader, option, value);
  }
  return options;
}

function readOwn(reader: FieldReader, option: string, value: string): unknown {
  const text = PostalMime.decodeWords(value);
  if (option === 'metadata') return readMetadata(reader, text);
  if (option === 'category') return text.toLowerCase();
  if (option !== 'tags') return text;
  // An encoded word can contain it, unlike a header or a body of JSON.
  if (text.includes('\0')) reader.add(option, 'must not contain NUL characters');
  return text
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
}

function readMetadata(reader: FieldReader, text: string): unknown {
  try {
    return parseJson(Buffer.from(text));
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    reader.add('metadata', 'must be JSON, with nothing named twice');
    return undefined;
  }
}
