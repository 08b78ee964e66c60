import type { ListedMessage } from '../mailbox.service';

/** For tools: what the list page shows. */
export function toMessageDto({ id, receivedAt, returnPath, recipients, sender, subject, size }: ListedMessage) {
  return { id, receivedAt: receivedAt.toISOString(), returnPath, recipients, sender, subject, size };
}
