import { addressKey } from '../../../common/mail-address';
import type { SubjectEmail } from '../../emails/privacy/subject-emails.service';
import type { ExportedEmail, ExportedEvent } from './export-items';
import { redactAddress, redactOthers } from './redact-others';

/** @param subject the data subject's address, in normal form */
export function toExportedEmail(email: SubjectEmail, subject: string): ExportedEmail {
  const { html, text } = email;
  const shown = (addresses: readonly string[] | null) =>
    (addresses ?? []).map((address) => redactAddress(address, subject));
  return {
    id: email.id,
    fromEmail: email.fromEmail,
    toEmails: shown(email.toEmails),
    ccEmails: shown(email.ccEmails),
    bccEmails: (email.bccEmails ?? []).filter((address) => isSame(address, subject)),
    subject: email.subject,
    createdAt: email.createdAt.toISOString(),
    status: email.status,
    ...(html !== null && { htmlBody: html }),
    ...(text !== null && { textBody: text }),
  };
}

/** Those about the subject, and those about the whole email. */
export function toExportedEvents({ events }: SubjectEmail, subject: string): ExportedEvent[] {
  return events
    .filter(({ data: { recipient } }) => typeof recipient !== 'string' || isSame(recipient, subject))
    .map((event) => ({
      id: event.id,
      emailId: event.emailId,
      eventType: event.eventType,
      timestamp: event.occurredAt.toISOString(),
      eventData: redactOthers(event.data, subject),
    }));
}

function isSame(address: string, subject: string): boolean {
  return addressKey(address) === addressKey(subject);
}
