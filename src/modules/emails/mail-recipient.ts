import type { DeliveryKey } from '../../delivery/ports/delivery';

/** Whom a delivery went to, and from whom. */
export interface MailRecipient extends DeliveryKey {
  readonly domainId: string;
  readonly fromEmail: string;
  readonly address: string;
  /** When the email was first handed to a next hop, for whichever recipient; null before that. */
  readonly sentAt: Date | null;
}
