import { Injectable } from '@nestjs/common';
import { domainOf } from '../../../common/mail-address';
import type { Transaction } from '../../../database/transaction';
import { DeliveryQueueRepository } from '../../../delivery/queue/delivery-queue.repository';
import { insertAttachments } from '../sql/insert-attachments.sql';
import { insertEmails } from '../sql/insert-emails.sql';
import type { AcceptedEmail } from './accepted-email';

@Injectable()
export class AcceptRepository {
  constructor(private readonly queue: DeliveryQueueRepository) {}

  /** Writes the emails with all that belongs to them, and puts their recipients into the queue. */
  insert(emails: readonly AcceptedEmail[], now: Date, tx: Transaction): void {
    if (emails.length === 0) return;
    tx.write(insertEmails(emails, now));
    for (const statement of insertAttachments(emails)) tx.write(statement);
    this.queue.enqueue(
      emails.flatMap((email) => deliveriesOf(email, now)),
      now,
      tx,
    );
  }
}

function deliveriesOf({ id, command, recipients }: AcceptedEmail, now: Date) {
  const { organizationId, mode, domain, request } = command;
  return recipients.map((recipient, position) => ({
    organizationId,
    mode,
    emailId: id,
    position,
    domainId: domain.id,
    recipient: recipient.email,
    destination: domainOf(recipient.email),
    category: request.category,
    dueAt: request.scheduledAt ?? now,
    expiresAt: request.expiresAt ?? null,
  }));
}
