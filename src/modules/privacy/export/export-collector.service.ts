import { Injectable } from '@nestjs/common';
import { isSameAddress } from '../../../common/address-forms';
import { addressKey } from '../../../common/mail-address';
import {
  type SubjectEmail,
  SubjectEmailsService,
  type SubjectRange,
  type SubjectScope,
} from '../../emails/privacy/subject-emails.service';
import { type InboundEmail, InboundEmailsService } from '../../inbound-mail/emails/inbound-emails.service';
import { InboundSubjectsService } from '../../inbound-mail/emails/inbound-subjects.service';
import { SuppressionListService } from '../../suppressions/suppression-list.service';
import {
  type ExportedEmail,
  type ExportedEvent,
  type ExportedSuppression,
  type ExportItems,
  redactAddress,
  redactOthers,
} from './export-items';

/** Inbound emails of one page, whose contents are in memory at once. */
const INBOUND_PAGE = 20;
const INBOUND_PAGE_BYTES = 8 * 1024 * 1024;
/** More than there are: an address has one entry for each reason at most. */
const MAX_SUPPRESSIONS = 100;

/** Collects the data of a subject in the form in which it is shown to them. */
@Injectable()
export class ExportCollector {
  constructor(
    private readonly emails: SubjectEmailsService,
    private readonly suppressions: SuppressionListService,
    private readonly inbound: InboundEmailsService,
    private readonly subjects: InboundSubjectsService,
  ) {}

  /** The next emails with their events, and the last of their ids; undefined when there are no more. */
  async nextEmails(
    scope: SubjectScope,
    range: SubjectRange,
  ): Promise<(Pick<ExportItems, 'emails' | 'events'> & { last: string }) | undefined> {
    const page = await this.emails.page(scope, range);
    const last = page.at(-1)?.id;
    if (last === undefined) return undefined;
    return {
      last,
      emails: page.map((email) => toExportedEmail(email, scope.address)),
      events: page.flatMap((email) => toExportedEvents(email, scope.address)),
    };
  }

  /** The next emails from the subject that are not also to it, and the start of the next page; undefined after the last. */
  async nextSent(
    scope: SubjectScope,
    range: SubjectRange,
  ): Promise<(Pick<ExportItems, 'emails' | 'events'> & { last: string }) | undefined> {
    const { emails, lastId } = await this.emails.sentPage(scope, range);
    if (lastId === null) return undefined;
    const sent = emails.filter((email) => !isTo(email, scope.address));
    return {
      last: lastId,
      emails: sent.map((email) => toExportedEmail(email, scope.address)),
      events: sent.flatMap((email) => toExportedEvents(email, scope.address)),
    };
  }

  /** The next inbound emails that name the subject, with contents only where the subject is the sender. */
  async nextInbound(
    scope: SubjectScope,
    range: SubjectRange,
  ): Promise<(Pick<ExportItems, 'emails' | 'events'> & { last: string }) | undefined> {
    const { ids, next } = await this.subjects.find(scope, scope.address, { ...range, limit: INBOUND_PAGE });
    const emails: ExportedEmail[] = [];
    let bytes = 0;
    for (const email of await this.subjects.read(scope, ids)) {
      const bodies = isSameAddress(email.fromAddress, scope.address) ? await this.inbound.bodiesOf(email) : {};
      emails.push(toExportedInbound(email, bodies, scope.address));
      bytes += lengthOf(bodies);
      if (bytes > INBOUND_PAGE_BYTES) return { last: email.id, emails, events: [] };
    }
    const last = next ?? emails.at(-1)?.id;
    return last === undefined ? undefined : { last, emails, events: [] };
  }

  /** The suppressions of the subject that are in force. */
  async suppressionsOf(scope: SubjectScope): Promise<ExportedSuppression[]> {
    const filter = { key: addressKey(scope.address), limit: MAX_SUPPRESSIONS, offset: 0 };
    const [entries] = await this.suppressions.page(scope, filter);
    return entries.map(({ id, email, reason, suppressedAt, notes }) => {
      return { id, email, reason, suppressedAt: suppressedAt.toISOString(), ...(notes !== null && { notes }) };
    });
  }
}

function lengthOf({ text = '', html = '' }: { text?: string; html?: string }): number {
  return text.length + html.length;
}

function toExportedInbound(
  { id, data, fromAddress, receivedAt }: InboundEmail,
  { text, html }: { readonly text?: string | undefined; readonly html?: string | undefined },
  subject: string,
): ExportedEmail {
  const shown = (texts: readonly string[]) => texts.map((each) => redactOthers(each, subject) as string);
  return {
    id,
    fromEmail: redactAddress(fromAddress, subject),
    ...{ toEmails: shown(data.to), ccEmails: shown(data.cc), bccEmails: [] },
    subject: data.subject,
    createdAt: receivedAt.toISOString(),
    status: 'received',
    ...(html !== undefined && { htmlBody: html }),
    ...(text !== undefined && { textBody: text }),
  };
}

/** @param subject the data subject's address, in normal form */
function toExportedEmail(email: SubjectEmail, subject: string): ExportedEmail {
  const { html, text } = email;
  const shown = (addresses: readonly string[] | null) =>
    (addresses ?? []).map((address) => redactAddress(address, subject));
  return {
    id: email.id,
    fromEmail: email.fromEmail,
    toEmails: shown(email.toEmails),
    ccEmails: shown(email.ccEmails),
    bccEmails: (email.bccEmails ?? []).filter((address) => isSameAddress(address, subject)),
    subject: email.subject,
    createdAt: email.createdAt.toISOString(),
    status: email.status,
    ...(html !== null && { htmlBody: html }),
    ...(text !== null && { textBody: text }),
    ...toOtherFields(email, subject),
  };
}

function toOtherFields({ replyTo, tags, metadata, headers, attachments }: SubjectEmail, subject: string) {
  const given = { replyTo, tags, metadata, headers, attachments };
  const present = Object.entries(given).filter(([, value]) => value !== null && value !== undefined);
  return redactOthers(Object.fromEntries(present), subject) as Partial<ExportedEmail>;
}

function isTo({ toEmails, ccEmails, bccEmails }: SubjectEmail, subject: string): boolean {
  return [...toEmails, ...(ccEmails ?? []), ...(bccEmails ?? [])].some((address) => isSameAddress(address, subject));
}

/** The events about the subject, and those about the whole email. */
function toExportedEvents({ events }: SubjectEmail, subject: string): ExportedEvent[] {
  return events
    .filter(({ data: { recipient } }) => typeof recipient !== 'string' || isSameAddress(recipient, subject))
    .map((event) => ({
      id: event.id,
      emailId: event.emailId,
      eventType: event.eventType,
      timestamp: event.occurredAt.toISOString(),
      eventData: redactOthers(event.data, subject),
    }));
}
