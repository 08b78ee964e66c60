import { Injectable } from '@nestjs/common';
import { NotFoundError } from '../../common/errors/app-error';
import { isUuid } from '../../common/ids';
import { withInlineImages } from '../../common/mime/inline-images';
import type { Tenant } from '../../common/tenant';
import { BodiesStorage, type OnBodySize, type StoredContent } from './content/bodies.storage';
import { headersOf, RawMessagesService } from './content/raw-messages.service';
import type { EmailAttachment } from './email.entity';
import { EmailsRepository } from './emails.repository';

export interface EmailContentView {
  readonly content: Pick<StoredContent, 'html' | 'text' | 'headers'>;
  readonly attachments: readonly Pick<EmailAttachment, 'filename' | 'contentType' | 'size'>[];
}

/** The content of emails, as long as it is kept. Raw messages are stored unchanged, and parsed when a client reads them. */
@Injectable()
export class EmailContentService {
  constructor(
    private readonly emails: EmailsRepository,
    private readonly bodies: BodiesStorage,
    private readonly messages: RawMessagesService,
  ) {}

  /**
   * The html with its small inline images embedded; without html the text.
   * @throws NotFoundError, also once the content's retention has ended
   */
  async preview(tenant: Tenant, id: string): Promise<Pick<StoredContent, 'html' | 'text'>> {
    const { content } = await this.content(tenant, id);
    if (content.html === null || !/\bcid:/i.test(content.html)) return content;
    const { organizationId, mode } = tenant;
    const key = { organizationId, mode, emailId: id.toLowerCase() };
    const images = [...(await this.emails.loadImages(key)), ...(await this.messages.readImages(key))];
    return { ...content, html: withInlineImages(content.html, images) };
  }

  /** @throws NotFoundError, also once the content's retention has ended; what `onSize` throws */
  async content(tenant: Tenant, id: string, onSize?: OnBodySize): Promise<EmailContentView> {
    const email = isUuid(id) ? await this.emails.find(tenant, id) : null;
    if (!email) throw new NotFoundError('Email');
    const key = { organizationId: email.organizationId, mode: email.mode, emailId: id };
    const content = await this.bodies.load(key, onSize);
    if (!content) throw new NotFoundError('Content');
    if (!content.isRaw) return { content, attachments: await this.emails.listAttachments(key) };
    const message = await this.messages.read(key, onSize);
    if (!message) throw new NotFoundError('Content');
    const { text = null, html = null, files } = message;
    return { content: { text, html, headers: headersOf(message) }, attachments: files };
  }
}
