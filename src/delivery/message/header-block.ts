import { domainOf, needsSmtpUtf8 } from '../../common/mail-address';
import type { OutgoingMessage } from '../ports/message-source';
import { addressField, customField, plainField, unstructuredField } from './header-field';

/** Name and value of one more header field. */
export type HeaderField = readonly [name: string, value: string];

/**
 * The header of a message up to MIME-Version; what describes the content follows it. Blind recipients never get here.
 * Nothing in it depends on when or where it is composed.
 */
export function headerBlock(message: OutgoingMessage, extraHeaders: readonly HeaderField[]): string {
  const custom = [...Object.entries(message.headers), ...extraHeaders];
  return [
    addressField('From', [message.from]),
    message.to.length > 0 ? addressField('To', message.to) : '',
    message.cc.length > 0 ? addressField('Cc', message.cc) : '',
    message.replyTo.length > 0 ? addressField('Reply-To', message.replyTo) : '',
    unstructuredField('Subject', message.subject),
    plainField('Date', formatDate(message.date)),
    plainField('Message-ID', messageId(message)),
    ...custom.map(([name, value]) => customField(name, value)),
    plainField('MIME-Version', '1.0'),
  ].join('');
}

/** The Message-ID of an email, with its angle brackets: the same at every attempt, so that receivers can drop doubles. */
export function messageId(message: Pick<OutgoingMessage, 'emailId' | 'from'>): string {
  return `<${message.emailId}@${domainOf(message.from.email)}>`;
}

/** True when an address in the header has a non-ASCII local part: then every recipient's server needs SMTPUTF8. */
export function headerNeedsSmtpUtf8(message: Pick<OutgoingMessage, 'from' | 'to' | 'cc' | 'replyTo'>): boolean {
  const { from, to, cc, replyTo } = message;
  return [from, ...to, ...cc, ...replyTo].some((mailbox) => needsSmtpUtf8(mailbox.email));
}

/** RFC 5322 section 3.3, in UTC. */
export function formatDate(date: Date): string {
  return date.toUTCString().replace('GMT', '+0000');
}
