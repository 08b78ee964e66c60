import { Injectable } from '@nestjs/common';
import { addressKey } from '../../common/mail-address';
import type { ClaimedDelivery, EmailKey } from '../../delivery/ports/delivery';
import {
  type MessageAttachment,
  type MessageBody,
  MessageSource,
  type OutgoingMessage,
} from '../../delivery/ports/sources';
import { SuppressionsService } from '../suppressions/suppressions.service';
import { BodiesStorage } from './content/bodies.storage';
import { EmailsRepository, type LoadedMessage } from './emails.repository';

/** Implements the delivery engine's port: messages to send, and recipients that have been suppressed meanwhile. */
@Injectable()
export class OutgoingMessagesService extends MessageSource {
  constructor(
    private readonly emails: EmailsRepository,
    private readonly bodies: BodiesStorage,
    private readonly suppressions: SuppressionsService,
  ) {
    super();
  }

  async load(emails: readonly EmailKey[], maxBodyBytes: number): Promise<Map<string, OutgoingMessage>> {
    const loaded = await this.emails.loadMessages(emails, maxBodyBytes);
    return new Map(loaded.map((message) => [message.emailId, toMessage(message)]));
  }

  async loadBody(email: EmailKey): Promise<MessageBody> {
    const body = await this.bodies.load(email);
    if (!body) throw new Error('The content is no longer stored');
    return toBody(body);
  }

  async loadRaw(email: EmailKey, before: number): Promise<Buffer> {
    const bytes = await this.bodies.messages.load(email, before);
    if (!bytes) throw new Error('The message is no longer stored');
    return bytes;
  }

  async loadAttachments(email: EmailKey): Promise<MessageAttachment[]> {
    const rows = await this.emails.loadAttachments(email);
    if (rows.length === 0) throw new Error('The attachments are no longer stored');
    return rows.map(({ filename, contentType, contentId, content }) => ({
      filename,
      contentType,
      content,
      ...(contentId !== null && { contentId }),
    }));
  }

  async findBlocked(deliveries: readonly ClaimedDelivery[]): Promise<Map<ClaimedDelivery, string>> {
    const addresses = deliveries.map(({ organizationId, mode, recipient, category }) => ({
      organizationId,
      mode,
      key: addressKey(recipient),
      category,
    }));
    const blocked = await this.suppressions.findBlocking(addresses);
    return new Map([...blocked].map(([index, reason]) => [deliveries[index] as ClaimedDelivery, reason]));
  }
}

/** Copies field by field: objects made with `...rest` are slow to create and to read, and this runs for every mail. */
function toMessage(loaded: LoadedMessage): OutgoingMessage {
  const { fromEmail, fromName, html, text, headers, addressees, raw } = loaded;
  return {
    organizationId: loaded.organizationId,
    mode: loaded.mode,
    emailId: loaded.emailId,
    domainId: loaded.domainId,
    date: loaded.date,
    subject: loaded.subject,
    tag: loaded.tag ?? undefined,
    bodyBytes: loaded.bodyBytes,
    isBodyLoaded: loaded.isBodyLoaded,
    trackOpens: loaded.trackOpens,
    trackClicks: loaded.trackClicks,
    attachmentBytes: loaded.attachmentBytes,
    from: fromName === null ? { email: fromEmail } : { email: fromEmail, name: fromName },
    to: addressees.to,
    cc: addressees.cc,
    replyTo: addressees.replyTo,
    headers: headers ?? {},
    isRaw: loaded.isRaw,
    ...(raw !== null && { raw }),
    ...toBody({ html, text }),
  };
}

function toBody({ html, text }: { html: string | null; text: string | null }): MessageBody {
  return { ...(html !== null && { html }), ...(text !== null && { text }) };
}
