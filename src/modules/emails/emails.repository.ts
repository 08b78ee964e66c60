import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, type Repository } from 'typeorm';
import type { Mode } from '../../common/mode';
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

@Injectable()
export class EmailsRepository {
  constructor(
    @InjectRepository(Email) private readonly emails: Repository<Email>,
    @InjectRepository(EmailContent) private readonly contents: Repository<EmailContent>,
    @InjectRepository(EmailRecipient) private readonly recipients: Repository<EmailRecipient>,
    @InjectRepository(EmailEvent) private readonly events: Repository<EmailEvent>,
  ) {}

  find({ organizationId, mode, domainId }: Viewer, id: string): Promise<Email | null> {
    return this.emails.findOneBy({ organizationId, mode, id, ...(domainId !== undefined && { domainId }) });
  }

  async findContents(viewer: Viewer, emailIds: readonly string[]): Promise<EmailContent[]> {
    if (emailIds.length === 0) return [];
    const { organizationId, mode } = viewer;
    return this.contents.findBy({ organizationId, mode, emailId: In(emailIds) });
  }

  findRecipients({ organizationId, mode, emailId }: EmailKey): Promise<EmailRecipient[]> {
    return this.recipients.find({ where: { organizationId, mode, emailId }, order: { position: 'ASC' } });
  }

  findEvents({ organizationId, mode, emailId }: EmailKey): Promise<EmailEvent[]> {
    return this.events.find({
      where: { organizationId, mode, emailId },
      order: { occurredAt: 'ASC', sequence: 'ASC' },
    });
  }
}
