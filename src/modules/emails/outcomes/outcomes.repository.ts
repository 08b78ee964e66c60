import { Injectable } from '@nestjs/common';
import type { EmailKey } from '../../../delivery/ports/delivery';
import type { Transaction } from '../../../database/transaction';
import { loadRecipients } from '../sql/load-recipients.sql';
import { lockEmails } from '../sql/lock-emails.sql';
import { writeOutcomes } from '../sql/write-outcomes.sql';
import type { EmailChanges, EmailState, RecipientState } from './email-state';

@Injectable()
export class OutcomesRepository {
  /** The emails with their recipients, locked until the transaction ends; unknown ones are left out. */
  async lock(keys: readonly EmailKey[], tx: Transaction): Promise<EmailState[]> {
    const emails = await tx.run(lockEmails(keys));
    const recipients = new Map<string, RecipientState[]>();
    for (const { emailId, ...recipient } of await tx.run(loadRecipients(emails))) {
      const known = recipients.get(emailId);
      if (known) known.push(recipient);
      else recipients.set(emailId, [recipient]);
    }
    return emails.map((email) => ({ ...email, recipients: recipients.get(email.emailId) ?? [] }));
  }

  async write(changes: readonly EmailChanges[], now: Date, tx: Transaction): Promise<void> {
    await tx.run(writeOutcomes(changes, now));
  }
}
