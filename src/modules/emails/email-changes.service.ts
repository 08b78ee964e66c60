import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { AppError, NotFoundError, ValidationError } from '../../common/errors/app-error';
import { isUuid } from '../../common/ids';
import type { Tenant } from '../../common/tenant';
import { Database } from '../../database/pool/database.service';
import type { EmailKey } from '../../delivery/ports/delivery';
import { DeliveryQueueRepository } from '../../delivery/queue/delivery-queue.repository';
import { isSchedulable } from './accept/request/parse-send-request';
import { SendEmailsService, type Submitter } from './accept/send-emails.service';
import type { Recipient, SendRequest } from './accept/request/send-request';
import { BodiesStorage, type StoredContent } from './content/bodies.storage';
import type { Email, EmailRecipient } from './email.entity';
import { EmailsRepository } from './emails.repository';
import { MAX_EVENTS } from './outcomes/apply-outcomes';
import { changeable, isErased, isErasedSender } from './outcomes/erased-recipient';

const FINAL: readonly string[] = ['sent', 'delivered', 'bounced', 'failed'];

/** Changes of accepted emails: reschedules them, and resends their content. */
@Injectable()
export class EmailChangesService {
  constructor(
    private readonly emails: EmailsRepository,
    private readonly queue: DeliveryQueueRepository,
    private readonly bodies: BodiesStorage,
    private readonly sender: SendEmailsService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * Reschedules an email that no worker has started: all recipients or none; erased and ended ones do not count.
   * @throws NotFoundError, ValidationError, AppError email_not_reschedulable
   */
  async reschedule(tenant: Tenant, id: string, scheduledAt: Date): Promise<void> {
    const email = await this.require(tenant, id);
    const now = this.clock.now();
    if (!isSchedulable(scheduledAt, now)) throw invalidTime('must be 1 minute to 30 days ahead');
    if (email.expiresAt && email.expiresAt <= scheduledAt) throw invalidTime('must be before expiresAt');
    if (email.eventSequence >= MAX_EVENTS) {
      throw notReschedulable(`The email has ${MAX_EVENTS} events, with one for each time that it was given`, {
        status: email.status,
        limit: MAX_EVENTS,
      });
    }
    const key = keyOf(email);
    const recipients = changeable(await this.emails.findRecipients(key));
    await this.database.transaction(async (tx) => {
      const moved = await this.queue.reschedule(key, scheduledAt, email.expiresAt !== null, tx);
      const isBegun = moved.length < recipients.length || (await this.emails.mayBeSent(key, tx));
      if (moved.length === 0 || isBegun) {
        throw notReschedulable('The email is no longer scheduled or queued', {
          status: FINAL.includes(email.status) ? email.status : 'sending',
        });
      }
      await this.emails.reschedule(key, scheduledAt, now, tx);
    });
  }

  /**
   * Sends an email's content again, to all of its recipients, as a new email, whatever the result of the first one.
   * @param keyHeader an idempotency key, as given
   * @throws NotFoundError, AppError email_not_resendable, and as a send
   */
  async resend(tenant: Submitter, id: string, keyHeader: string | undefined) {
    return this.sender.sendAgain(await this.stored(tenant, id), id, keyHeader, tenant);
  }

  /** What is sent again, or why that is not possible. @throws NotFoundError */
  private async stored(tenant: Submitter, id: string): Promise<SendRequest | AppError> {
    const email = await this.require(tenant, id);
    if (isErasedSender(email)) return notResendable('The sender of the email has been erased');
    const key = keyOf(email);
    const recipients = present(await this.emails.findRecipients(key));
    if (recipients.length === 0) return notResendable('The recipients of the email have been erased');
    const files = await this.emails.listAttachments(key);
    const fileBytes = files.reduce((sum, { size }) => sum + size, 0);
    // The request has no body, but needs as much memory as the original send.
    const content = await this.bodies.load(key, (bytes) => tenant.hold?.(bytes + fileBytes));
    if (!content) return notResendable('The content of the email is no longer stored');
    const loaded = await this.load(key, content);
    return loaded instanceof AppError ? loaded : { ...toRequest(email, content, recipients), ...loaded };
  }

  /** The content: a raw message, or bodies and attachments. */
  private async load(key: EmailKey, { isRaw, html, text, attachmentCount }: StoredContent) {
    if (isRaw) {
      const raw = await this.bodies.messages.load(key);
      return raw ? { raw } : notResendable('The message is no longer stored');
    }
    if (html === null && text === null) return notResendable('The content of the email is no longer stored');
    const stored = attachmentCount > 0 ? await this.emails.loadAttachments(key) : [];
    if (stored.length < attachmentCount) return notResendable('The attachments are no longer stored');
    const attachments = stored.map(({ filename, contentType, contentId, content }) => ({
      ...{ filename, contentType, content },
      contentId: contentId ?? undefined,
    }));
    return { html: html ?? undefined, text: text ?? undefined, attachments };
  }

  private async require(tenant: Tenant, id: string): Promise<Email> {
    const email = isUuid(id) ? await this.emails.find(tenant, id) : null;
    if (!email) throw new NotFoundError('Email');
    return email;
  }
}

function present(recipients: readonly EmailRecipient[]): EmailRecipient[] {
  return recipients.filter(({ address }) => !isErased(address));
}

function invalidTime(problem: string): ValidationError {
  return new ValidationError({ scheduledAt: [`scheduledAt ${problem}`] });
}

function notReschedulable(message: string, details: Record<string, unknown>): AppError {
  return new AppError('email_not_reschedulable', message, { details });
}

function notResendable(message: string): AppError {
  return new AppError('email_not_resendable', message);
}

function toRequest(
  email: Email,
  { headers, addressees }: StoredContent,
  recipients: readonly EmailRecipient[],
): SendRequest {
  const at = email.fromEmail.lastIndexOf('@');
  const names = new Map([...addressees.to, ...addressees.cc].map((mailbox) => [mailbox.email, mailbox.name]));
  return {
    from: {
      localPart: email.fromEmail.slice(0, at),
      domain: email.fromEmail.slice(at + 1),
      name: email.fromName ?? undefined,
    },
    recipients: recipients.map(({ address, kind }): Recipient => ({
      email: address,
      name: kind === 'bcc' ? undefined : names.get(address),
      kind,
    })),
    replyTo: addressees.replyTo,
    subject: email.subject,
    html: undefined,
    text: undefined,
    headers: headers ?? {},
    attachments: [],
    tags: email.tags ?? [],
    metadata: email.metadata ?? undefined,
    scheduledAt: undefined,
    expiresAt: undefined,
    tracking: { opens: email.trackOpens, clicks: email.trackClicks },
    category: email.category,
    idempotencyKey: undefined,
  };
}

function keyOf({ organizationId, mode, id }: Email) {
  return { organizationId, mode, emailId: id };
}
