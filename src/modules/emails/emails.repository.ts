import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, type Repository } from 'typeorm';
import type { Mode } from '../../common/tenant';
import { Database } from '../../database/database.service';
import type { EmailKey } from '../../delivery/ports/delivery';
import { Email } from './email.entity';
import { EmailContent } from './email-content.entity';
import { EmailEvent } from './email-event.entity';
import { EmailRecipient } from './email-recipient.entity';
import type { EmailStatus } from './outcomes/recipient-state';

/** Whose emails may be seen. */
export interface Viewer {
  readonly organizationId: string;
  readonly mode: Mode;
  /** Set when the API key is bound to one domain. */
  readonly domainId: string | undefined;
}

export interface EmailFilter {
  readonly status?: EmailStatus;
  readonly tag?: string;
  /** Normal form. */
  readonly recipient?: string;
  readonly domainId?: string;
  readonly from?: Date;
  readonly to?: Date;
}

export interface WholeEmail {
  readonly email: Email;
  readonly recipients: readonly EmailRecipient[];
  readonly events: readonly EmailEvent[];
}

@Injectable()
export class EmailsRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(Email) private readonly emails: Repository<Email>,
    @InjectRepository(EmailContent) private readonly contents: Repository<EmailContent>,
    @InjectRepository(EmailRecipient) private readonly recipients: Repository<EmailRecipient>,
    @InjectRepository(EmailEvent) private readonly events: Repository<EmailEvent>,
  ) {}

  find({ organizationId, mode, domainId }: Viewer, id: string, emails = this.emails): Promise<Email | null> {
    return emails.findOneBy({ organizationId, mode, id, ...(domainId !== undefined && { domainId }) });
  }

  /** The email with its recipients and events, as of one moment. */
  findWhole(viewer: Viewer, id: string): Promise<WholeEmail | undefined> {
    return this.database.snapshot(async ({ manager }) => {
      const email = await this.find(viewer, id, manager.getRepository(Email));
      if (!email) return undefined;
      const key = { ...viewer, emailId: id };
      return {
        email,
        recipients: await this.findRecipients(key, manager.getRepository(EmailRecipient)),
        events: await this.findEvents(key, manager.getRepository(EmailEvent)),
      };
    });
  }

  async findContents(viewer: Viewer, emailIds: readonly string[]): Promise<EmailContent[]> {
    if (emailIds.length === 0) return [];
    const { organizationId, mode } = viewer;
    return this.contents.findBy({ organizationId, mode, emailId: In(emailIds) });
  }

  findRecipients({ organizationId, mode, emailId }: EmailKey, recipients = this.recipients): Promise<EmailRecipient[]> {
    return recipients.find({ where: { organizationId, mode, emailId }, order: { position: 'ASC' } });
  }

  findEvents({ organizationId, mode, emailId }: EmailKey, events = this.events): Promise<EmailEvent[]> {
    return events.find({
      where: { organizationId, mode, emailId },
      order: { occurredAt: 'ASC', sequence: 'ASC' },
    });
  }
}
