import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import type { EmailKey } from '../../delivery/ports/delivery';
import { EmailAttachment } from './email-attachment.entity';

@Injectable()
export class AttachmentsRepository {
  constructor(@InjectRepository(EmailAttachment) private readonly attachments: Repository<EmailAttachment>) {}

  /** Without their bytes. */
  list({ organizationId, mode, emailId }: EmailKey): Promise<EmailAttachment[]> {
    return this.attachments.find({ where: { organizationId, mode, emailId }, order: { position: 'ASC' } });
  }

  /** With their bytes, for composing. */
  findForSending({ organizationId, mode, emailId }: EmailKey): Promise<EmailAttachment[]> {
    return this.attachments.find({
      select: { position: true, filename: true, contentType: true, contentId: true, content: true },
      where: { organizationId, mode, emailId },
      order: { position: 'ASC' },
    });
  }
}
