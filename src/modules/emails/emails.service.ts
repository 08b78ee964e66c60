import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../../common/errors/app-error';
import { isUuid } from '../../common/ids';
import { parseAddress } from '../../common/mail-address';
import { DeliveryQueueRepository } from '../../delivery/queue/delivery-queue.repository';
import { AttachmentsRepository } from './attachments.repository';
import { CancelEmailService } from './cancel-email.service';
import type { Email } from './email.entity';
import type { EmailAttachment } from './email-attachment.entity';
import type { EmailContent } from './email-content.entity';
import type { EmailEvent } from './email-event.entity';
import type { EmailRecipient } from './email-recipient.entity';
import { EmailListService, type ListedEmails, type ListPage } from './list/email-list.service';
import { type EmailFilter, EmailsRepository, type Viewer } from './emails.repository';

/** One page of a list, each email with its content if that is still there. */
export interface EmailPage extends Omit<ListedEmails, 'emails'> {
  readonly emails: readonly { readonly email: Email; readonly content: EmailContent | undefined }[];
}

export interface EmailDetail {
  readonly email: Email;
  readonly recipients: readonly { readonly recipient: EmailRecipient; readonly nextAttemptAt: Date | undefined }[];
  readonly events: readonly EmailEvent[];
}

export interface EmailContentView {
  readonly content: EmailContent;
  readonly attachments: readonly EmailAttachment[];
}

/** Reading emails, and calling them back. */
@Injectable()
export class EmailsService {
  constructor(
    private readonly emails: EmailsRepository,
    private readonly attachments: AttachmentsRepository,
    private readonly queue: DeliveryQueueRepository,
    private readonly cancellation: CancelEmailService,
    private readonly lists: EmailListService,
  ) {}

  /** The filter's `recipient` may be spelled in any way that names the same mailbox. */
  async list(viewer: Viewer, { recipient, ...others }: EmailFilter, page: ListPage): Promise<EmailPage> {
    const filter = { ...others, recipient: recipient === undefined ? undefined : normalForm(recipient) };
    const listed = await this.lists.page(viewer, filter, page);
    const contents = await this.emails.findContents(
      viewer,
      listed.emails.map((email) => email.id),
    );
    const byId = new Map(contents.map((content) => [content.emailId, content]));
    return { ...listed, emails: listed.emails.map((email) => ({ email, content: byId.get(email.id) })) };
  }

  /** @throws NotFoundError */
  async detail(viewer: Viewer, id: string): Promise<EmailDetail> {
    const found = isUuid(id) ? await this.emails.findWhole(viewer, id) : undefined;
    if (!found) throw new NotFoundError('Email');
    const { email, recipients, events } = found;
    const open = await this.queue.findOpen(keyOf(email));
    const due = new Map(open.filter((row) => row.state !== 'claimed').map((row) => [row.position, row.dueAt]));
    return {
      email,
      recipients: recipients.map((recipient) => ({ recipient, nextAttemptAt: due.get(recipient.position) })),
      events,
    };
  }

  /** @throws NotFoundError */
  async events(viewer: Viewer, id: string): Promise<EmailEvent[]> {
    return this.emails.findEvents(keyOf(await this.require(viewer, id)));
  }

  /** @throws NotFoundError, also once the content's retention has ended */
  async content(viewer: Viewer, id: string): Promise<EmailContentView> {
    const email = await this.require(viewer, id);
    const [content] = await this.emails.findContents(viewer, [id]);
    if (!content) throw new NotFoundError('Content');
    return { content, attachments: await this.attachments.list(keyOf(email)) };
  }

  /** @throws NotFoundError, AppError email_not_cancellable */
  async cancel(viewer: Viewer, id: string): Promise<void> {
    const email = await this.require(viewer, id);
    await this.cancellation.cancel(email, await this.emails.findRecipients(keyOf(email)));
  }

  private async require(viewer: Viewer, id: string): Promise<Email> {
    const email = isUuid(id) ? await this.emails.find(viewer, id) : null;
    if (!email) throw new NotFoundError('Email');
    return email;
  }
}

/** What is no address is looked for as it is, and found nowhere. */
function normalForm(recipient: string): string {
  const parsed = parseAddress(recipient);
  return parsed.ok ? parsed.email : recipient;
}

function keyOf({ organizationId, mode, id }: Email) {
  return { organizationId, mode, emailId: id };
}
