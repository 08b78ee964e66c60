import type { MessageFile } from '../../../common/mime/message-view';
import { decodeField } from '../../../common/mime/part-text';
import type { InboundEmail, ShownInboundEmail } from '../inbound-emails.service';
import type { InboundAttachmentDto, InboundEmailDto, InboundEmailListItemDto } from './inbound-email.dto';

export function toListItem(email: InboundEmail): InboundEmailListItemDto {
  const { id, routeId, envelopeFrom, envelopeTo, data, sizeBytes, receivedAt } = email;
  const { to, cc, references, marks, authentication, ...shown } = data;
  return {
    ...{ id, routeId, envelope: { from: envelopeFrom, to: envelopeTo } },
    ...{ ...shown, to: [...to], cc: [...cc], references: [...references], marks: [...marks] },
    authentication: { ...authentication, dkim: [...authentication.dkim] },
    ...{ sizeBytes, receivedAt: receivedAt.toISOString() },
  };
}

export function toInboundEmailDto({ email, message }: ShownInboundEmail): InboundEmailDto {
  const { fields, text, html, files } = message;
  return {
    ...toListItem(email),
    ...(text !== undefined && { text }),
    ...(html !== undefined && { html }),
    headers: fields.list.map(({ spelledName, value }) => ({ name: spelledName, value: decodeField(value) })),
    attachments: files.map(toAttachment),
  };
}

function toAttachment({ index, filename, contentType, size, contentId }: MessageFile): InboundAttachmentDto {
  return { index, filename, contentType, size, ...(contentId !== undefined && { contentId }) };
}
