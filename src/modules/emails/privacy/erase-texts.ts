import type { EventType } from '../../../common/event-types';
import { REPLACEMENT } from '../../../common/erasure/message-replacements';
import { everySigma } from '../../../common/address-forms';
import { domainOf, type Mailbox } from '../../../common/mail-address';
import { ERASED_SENDER, erasedAddress } from '../outcomes/erased-recipient';
import type { AttachmentName, ErasableContent } from './sql/erase-contents.sql';
import type { EmailHead } from './sql/erase-emails.sql';
import type { ErasedSubject } from './sql/erased.sql';

/** A subject in one email: its position among the recipients, null when the subject is not a recipient. */
export interface SubjectIn extends Pick<ErasedSubject, 'keys' | 'finder'> {
  readonly position: number | null;
}

/** An email's head after the erasure. Without other recipients none of its texts is kept. */
export async function eraseHead(head: EmailHead, subject: SubjectIn, isShared: boolean): Promise<EmailHead> {
  const { keys, finder } = subject;
  const withPlaceholders = (addresses: string[]) =>
    addresses.map((address) => (isOf(keys, address) ? placeholderOf(subject) : address));
  return {
    ...eraseSender(head, subject),
    subject: isShared ? finder.clean(head.subject) : REPLACEMENT,
    to_emails: withPlaceholders(head.to_emails),
    cc_emails: head.cc_emails && withPlaceholders(head.cc_emails),
    bcc_emails: head.bcc_emails && withPlaceholders(head.bcc_emails),
    reply_to: head.reply_to && head.reply_to.map((address) => (isOf(keys, address) ? ERASED_SENDER : address)),
    tags: isShared && head.tags ? await finder.turns.map(head.tags, (tag) => finder.clean(tag)) : null,
    metadata: isShared ? await finder.cleanValue(head.metadata) : null,
  };
}

function eraseSender({ from_email, from_name }: EmailHead, { keys, finder }: SubjectIn) {
  if (isOf(keys, from_email)) return { from_email: `erased@${domainOf(from_email)}`, from_name: null };
  return { from_email, from_name: from_name === null ? null : finder.clean(from_name) };
}

/** The content of an email for its other recipients, without the subject. */
export async function eraseContent(
  { html, text, headers, addressees, attachments }: ErasableContent,
  { keys, finder }: SubjectIn,
): Promise<ErasableContent> {
  const withoutSubject = (mailboxes: readonly Mailbox[]) => mailboxes.filter(({ email }) => !isOf(keys, email));
  const others = {
    to: withoutSubject(addressees.to),
    cc: withoutSubject(addressees.cc),
    replyTo: withoutSubject(addressees.replyTo),
  };
  return {
    html: html === null ? null : await finder.cleanLong(html),
    text: text === null ? null : await finder.cleanLong(text),
    headers: (await finder.cleanValue(headers)) as ErasableContent['headers'],
    addressees: (await finder.cleanValue(others)) as ErasableContent['addressees'],
    attachments: await finder.turns.map(attachments, (attachment): AttachmentName => {
      const { position, filename, contentType, contentId } = attachment;
      return {
        position,
        filename: finder.clean(filename),
        contentType: finder.holds(contentType) ? 'application/octet-stream' : contentType,
        contentId: contentId === null ? null : finder.clean(contentId),
      };
    }),
  };
}

/** Fields that are kept: those for recounting statistics, and facts without persons and texts. */
const KEPT: ReadonlySet<string> = new Set([
  ...['attempt', 'automated', 'bounceType', 'class', 'code', 'countsAgainstSender', 'duplicate', 'enhancedCode'],
  ...['method', 'nextAttemptAt', 'reason', 'ruleId'],
]);

/** Text fields that are kept in events whose texts were written by this service, not by another server. */
const OWN_TEXTS: ReadonlySet<string> = new Set(['detail', 'explanation']);

/** The data of an event after the erasure: events about the subject lose all texts, others the address. The same when nothing changes. */
export async function eraseEventData(
  { eventType, data }: { readonly eventType: EventType; readonly data: Record<string, unknown> },
  subject: SubjectIn,
): Promise<Record<string, unknown>> {
  const { recipient } = data;
  const cleaned = (value: object) => subject.finder.cleanValue(value) as Promise<Record<string, unknown>>;
  if (typeof recipient !== 'string' || !isOf(subject.keys, recipient)) return cleaned(data);
  const saysWhy = eventType === 'blocked' || eventType === 'cancelled';
  const kept = Object.entries(data).filter(([name]) => KEPT.has(name) || (saysWhy && OWN_TEXTS.has(name)));
  return { ...(await cleaned(Object.fromEntries(kept))), recipient: placeholderOf(subject) };
}

function placeholderOf({ position }: SubjectIn): string {
  return erasedAddress(position ?? 0);
}

function isOf(keys: readonly string[], address: string): boolean {
  const key = address.toLowerCase();
  return keys.includes(key) || keys.includes(everySigma(key));
}
