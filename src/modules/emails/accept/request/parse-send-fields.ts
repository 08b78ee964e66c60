import { personKey } from '../../../../common/address-forms';
import { type Mailbox, parseMailbox } from '../../../../common/mail-address';
import { isLongerThan, isRecord } from '../../../../common/values';
import type { FieldReader } from './field-reader';
import type { Recipient, RecipientKind, Sender, TemplateReference } from './send-request';
import { isUuid } from '../../../../common/ids';
import { MAX_VARIABLES_BYTES, MAX_VERSION, TEMPLATE_NAME } from '../../../templates/template-renderer.service';

const MAX_RECIPIENTS = 50;
/** Limit on mentions before duplicates are removed. */
export const MAX_MENTIONS = 500;
const MAX_REPLY_TO = 10;
const KINDS: readonly RecipientKind[] = ['to', 'cc', 'bcc'];

/** The recipients of `to`, `cc` and `bcc`, each address once: the first mention counts. */
export function readRecipients(reader: FieldReader, body: Record<string, unknown>): Recipient[] {
  const unique = new Map<string, Recipient>();
  for (const kind of KINDS) {
    reader.list(body[kind], kind, MAX_MENTIONS).forEach((value, index) => {
      const mailbox = readMailbox(reader, value, `${kind}[${index}]`);
      if (!mailbox) return;
      const key = personKey(mailbox.email);
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

const FIELDS = new Set(['id', 'name', 'version', 'variables']);
const IN_ITS_PLACE = ['subject', 'html', 'text'] as const;

/** Reads the template of a send request, which replaces subject, html and text. */
export function readTemplate(reader: FieldReader, given: Record<string, unknown>): TemplateReference | undefined {
  if (given.template === undefined) return undefined;
  for (const field of IN_ITS_PLACE) {
    if (given[field] !== undefined) reader.add(field, 'must be left out: the template has it');
  }
  const template = reader.object(given.template, 'template');
  if (!template) return undefined;
  reader.unknownFields(template, FIELDS, 'template');
  if ((template.id === undefined) === (template.name === undefined)) {
    reader.add('template', 'must have either an id or a name');
  }
  return {
    id: readPattern(reader, template.id, 'template.id', { test: isUuid, must: 'must be a UUID' })?.toLowerCase(),
    name: readPattern(reader, template.name, 'template.name', {
      test: (name) => TEMPLATE_NAME.test(name),
      must: 'must be 1 to 64 lower-case letters, digits and hyphens',
    }),
    version: readVersion(reader, template.version),
    variables: readVariables(reader, template.variables),
  };
}

function readPattern(
  reader: FieldReader,
  value: unknown,
  path: string,
  rule: { readonly test: (text: string) => boolean; readonly must: string },
): string | undefined {
  if (value === undefined || (typeof value === 'string' && rule.test(value))) return value;
  reader.add(path, rule.must);
  return undefined;
}

function readVersion(reader: FieldReader, value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_VERSION) return value;
  reader.add('template.version', 'must be an integer from 1');
  return undefined;
}

function readVariables(reader: FieldReader, value: unknown): string {
  if (value === undefined) return '{}';
  const variables = reader.object(value, 'template.variables') ?? {};
  if (!isLongerThan(variables, MAX_VARIABLES_BYTES)) return JSON.stringify(variables);
  reader.add('template.variables', `must be at most ${MAX_VARIABLES_BYTES} bytes of JSON`);
  return '{}';
}
