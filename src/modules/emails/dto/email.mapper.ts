import { toPagination } from '../../../common/http/dto/pagination';
import type { Waiting } from '../../../delivery/queue/waiting';
import type { Email, EmailEvent } from '../email.entity';
import type { EmailContentView } from '../email-content.service';
import type { EmailBodies, EmailDetail, EmailPage } from '../emails.service';
import type {
  EmailContentDto,
  EmailDetailDto,
  EmailEventDto,
  EmailListItemDto,
  ListEmailsQuery,
  RecipientWaitingDto,
} from './email.dto';

export function toEventDto(event: EmailEvent): EmailEventDto {
  return {
    id: event.id,
    eventType: event.eventType,
    source: event.source,
    timestamp: event.occurredAt.toISOString(),
    eventData: event.data,
  };
}

/** Adds what each open recipient waits for, and when its delivery is given up at the latest. */
export function toDetailDto({ email, recipients, events }: EmailDetail): EmailDetailDto {
  return {
    ...baseOf(email),
    ...present({ resentFrom: email.resentFrom ?? undefined, resentAs: email.resentAs ?? undefined }),
    events: events.map(toEventDto),
    recipients: recipients.map(({ recipient, nextAttemptAt, waiting }) => ({
      email: recipient.address,
      kind: recipient.kind,
      status: recipient.status,
      attempts: recipient.attempts,
      ...present({
        lastResponse: recipient.lastResponse ?? undefined,
        nextAttemptAt: nextAttemptAt?.toISOString(),
        waiting: waiting && toWaitingDto(waiting),
        endsAt: waiting?.endsAt.toISOString(),
      }),
    })),
  };
}

function toWaitingDto({ reason, until, detail }: Waiting): RecipientWaitingDto {
  return { reason, detail, ...(until && { until: until.toISOString() }) };
}

/** @param query tells how the page was requested, by number or by cursor */
export function toListDto({ emails, ...listed }: EmailPage, query: ListEmailsQuery) {
  return {
    data: emails.map(({ email, bodies }) => toListItem(email, bodies)),
    pagination: toPagination(listed, query),
  };
}

/** Leaves out the part that the email does not have; attachments are listed without their bytes. */
export function toContentDto({ content, attachments }: EmailContentView): EmailContentDto {
  return {
    ...present({ html: content.html ?? undefined, text: content.text ?? undefined }),
    headers: content.headers ?? {},
    attachments: attachments.map(({ filename, contentType, size }) => ({ filename, contentType, size })),
  };
}

function toListItem(email: Email, bodies: EmailBodies | undefined): EmailListItemDto {
  return {
    ...baseOf(email),
    domainId: email.domainId,
    queuedAt: email.createdAt.toISOString(),
    updatedAt: email.updatedAt.toISOString(),
    openCount: email.openCount,
    clickCount: email.clickCount,
    ...present({
      htmlBody: bodies?.html || undefined,
      textBody: bodies?.text || undefined,
    }),
  };
}

function baseOf(email: Email) {
  return {
    id: email.id,
    organizationId: email.organizationId,
    status: email.status,
    fromEmail: email.fromEmail,
    toEmails: email.toEmails,
    subject: email.subject,
    createdAt: email.createdAt.toISOString(),
    tags: email.tags ?? [],
    ...present({
      fromName: email.fromName ?? undefined,
      ccEmails: email.ccEmails ?? undefined,
      bccEmails: email.bccEmails ?? undefined,
      sentAt: iso(email.sentAt),
      deliveredAt: iso(email.deliveredAt),
      bouncedAt: iso(email.bouncedAt),
      failedAt: iso(email.failedAt),
      scheduledFor: iso(email.scheduledFor),
      replyTo: email.replyTo?.join(', '),
      metadata: email.metadata ?? undefined,
    }),
  };
}

function iso(time: Date | null): string | undefined {
  return time?.toISOString();
}

/** Removes undefined properties. */
function present<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
