import { addressKey, type Mailbox, parseMailbox } from '../../../common/mail-address';
import { isRecord } from '../../../common/values';
import type { FieldReader } from './field-reader';
import type { Recipient, RecipientKind, Sender } from './send-request';

const MAX_RECIPIENTS = 50;
/** Limit on mentions before duplicates are removed. */
const MAX_MENTIONS = 500;
const MAX_REPLY_TO = 10;
const KINDS: readonly RecipientKind[] = ['to', 'cc', 'bcc'];

/** The recipients of `to`, `cc` and `bcc`, each address once: the first mention counts. */
export function readRecipients(reader: FieldReader, body: Record<string, unknown>): Recipient[] {
  const unique = new Map<string, Recipient>();
  for (const kind of KINDS) {
    reader.list(body[kind], kind, MAX_MENTIONS).forEach((value, index) => {
      const mailbox = readMailbox(reader, value, `${kind}[${index}]`);
      if (!mailbox) return;
      const key = addressKey(mailbox.email);
      if (!unique.has(key)) unique.set(key, { ...mailbox, kind });
    });
  }
  if (body.to === undefined || (Array.isArray(body.to) && body.to.length === 0)) {
    reader.add('to', 'must contain at least one recipient');
  }
  if (unique.size > MAX_RECIPIENTS) {
    reader.add('to', `with cc and bcc must contain at most ${MAX_RECIPIENTS} recipients`);
  }
  return [...unique.values()];
}

/** Reads `replyTo`: one address or a list. */
export function readReplyTo(reader: FieldReader, value: unknown): Mailbox[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) return present(readMailbox(reader, value, 'replyTo'));
  return reader
    .list(value, 'replyTo', MAX_REPLY_TO)
    .flatMap((entry, index) => present(readMailbox(reader, entry, `replyTo[${index}]`)));
}

/** Reads `from`. Absent: `noreply@` the default domain. A bare local part is completed with the default domain. */
export function readSender(reader: FieldReader, value: unknown): Sender {
  if (value === undefined) return { localPart: 'noreply', domain: undefined, name: undefined };
  const completed = completeLocalPart(value);
  const mailbox = readMailbox(reader, completed ?? value, 'from');
  if (!mailbox) return { localPart: '', domain: undefined, name: undefined };
  const at = mailbox.email.lastIndexOf('@');
  return {
    localPart: mailbox.email.slice(0, at),
    domain: completed === undefined ? mailbox.email.slice(at + 1) : undefined,
    name: mailbox.name,
  };
}

/** A placeholder domain for parsing a bare local part; only the local part of the result is used. */
const ANY_DOMAIN = '@default.invalid';

const NAMED_LOCAL_PART = /^([^<>]*)<([^<>@]+)>$/;
/** Longer texts are not an address, even with a domain. */
const MAX_COMPLETED = 1_000;

/** The value with the placeholder domain appended; undefined when it has a domain or is not an address. */
function completeLocalPart(value: unknown): unknown {
  if (typeof value === 'string') return completeText(value);
  const email = isRecord(value) ? value.email : undefined;
  if (typeof email !== 'string' || email === '' || email.includes('@')) return undefined;
  return { ...(value as object), email: email + ANY_DOMAIN };
}

function completeText(value: string): string | undefined {
  if (value === '' || value.length > MAX_COMPLETED || value.includes('@')) return undefined;
  const [, name, localPart] = NAMED_LOCAL_PART.exec(value) ?? [];
  return localPart === undefined ? value + ANY_DOMAIN : `${name}<${localPart}${ANY_DOMAIN}>`;
}

const MAILBOX_FIELDS = new Set(['email', 'name']);

function readMailbox(reader: FieldReader, value: unknown, path: string): Mailbox | undefined {
  const object = isRecord(value);
  if (object) reader.unknownFields(value, MAILBOX_FIELDS, path);
  const parsed = parseMailbox(value);
  if (parsed.ok) return parsed.mailbox;
  const field = parsed.message.startsWith('has a name') ? 'name' : 'email';
  reader.add(object ? `${path}.${field}` : path, parsed.message);
  return undefined;
}

function present<T>(value: T | undefined): T[] {
  return value === undefined ? [] : [value];
}
