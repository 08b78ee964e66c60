import { Injectable } from '@nestjs/common';
import { addressKey } from '../../common/mail-address';
import type { ClaimedDelivery, EmailKey } from '../../delivery/ports/delivery';
import { type MessageAttachment, MessageSource, type OutgoingMessage } from '../../delivery/ports/message-source';
import { SuppressionsService } from '../suppressions/suppressions.service';
import { AttachmentsRepository } from './attachments.repository';
import { OutgoingMessagesRepository } from './outgoing-messages.repository';
import type { LoadedMessage } from './sql/load-messages.sql';

/** Gives the engine what it is to send, and tells whom it must not send to any more. */
@Injectable()
export class OutgoingMessagesService extends MessageSource {
  constructor(
    private readonly messages: OutgoingMessagesRepository,
    private readonly attachments: AttachmentsRepository,
    private readonly suppressions: SuppressionsService,
  ) {
    super();
  }

  async load(emails: readonly EmailKey[]): Promise<Map<string, OutgoingMessage>> {
    const loaded = await this.messages.findForComposing(emails);
    const attachments = await this.loadAttachments(loaded.filter((message) => message.attachmentCount > 0));
    return new Map(
      loaded.map((message) => [message.emailId, toMessage(message, attachments.get(message.emailId) ?? [])]),
    );
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

  private async loadAttachments(messages: readonly LoadedMessage[]): Promise<Map<string, MessageAttachment[]>> {
    const byEmail = new Map<string, MessageAttachment[]>(messages.map((message) => [message.emailId, []]));
    if (messages.length === 0) return byEmail;
    const organizations = [...new Set(messages.map((message) => message.organizationId))];
    for (const row of await this.attachments.findForSending(organizations, [...byEmail.keys()])) {
      const { filename, contentType, contentId, content } = row;
      byEmail.get(row.emailId)?.push({ filename, contentType, content, ...(contentId !== null && { contentId }) });
    }
    return byEmail;
  }
}

function toMessage(loaded: LoadedMessage, attachments: readonly MessageAttachment[]): OutgoingMessage {
  const { fromEmail, fromName, html, text, headers, addressees, ...rest } = loaded;
  return {
    ...rest,
    from: { email: fromEmail, ...(fromName !== null && { name: fromName }) },
    ...addressees,
    ...(html !== null && { html }),
    ...(text !== null && { text }),
    headers: headers ?? {},
    attachments,
  };
}
