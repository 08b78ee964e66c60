import type { DeliveryKey, MailCategory } from '../ports/delivery';

/** A recipient to be delivered to, not before `dueAt`. */
export interface NewDelivery extends DeliveryKey {
  readonly domainId: string;
  readonly recipient: string;
  readonly destination: string;
  readonly category: MailCategory;
  readonly dueAt: Date;
  readonly expiresAt: Date | null;
}
