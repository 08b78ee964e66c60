import { Injectable } from '@nestjs/common';
import type { EmailKey } from '../../../delivery/ports/delivery';
import type { Transaction } from '../../../database/transaction';
import type { RecordedOutcome } from '../../../delivery/ports/outcome';
import { loadRecipients } from '../sql/load-recipients.sql';
import { lockEmails } from '../sql/lock-emails.sql';
import { markSending } from '../sql/mark-sending.sql';
import { writeOutcomes } from '../sql/write-outcomes.sql';
import type { EmailChanges, EmailState, RecipientState } from './email-state';

@Injectable()
export class OutcomesRepository {
  /** The emails with their recipients, locked until the transaction ends; unknown ones are left out. */
  async lock(keys: readonly EmailKey[], tx: Transaction): Promise<EmailState[]> {
    // Sent together and run one after the other: the second one's snapshot is taken once the first holds its locks.
    const [emails, loaded] = await Promise.all([tx.run(lockEmails(keys)), tx.run(loadRecipients(keys))]);
    const recipients = new Map<string, RecipientState[]>();
    for (const { emailId, ...recipient } of loaded) {
      const known = recipients.get(emailId);
      if (known) known.push(recipient);
      else recipients.set(emailId, [recipient]);
    }
    return emails.map((email) => ({ ...email, recipients: recipients.get(email.emailId) ?? [] }));
  }

  /** Claims alone need no look at the emails' states beforehand. */
  writeClaims(claims: readonly RecordedOutcome[], now: Date, tx: Transaction): void {
    tx.write(markSending(claims, now));
  }

  write(changes: readonly EmailChanges[], now: Date, tx: Transaction): void {
    tx.write(writeOutcomes(changes, now));
  }
}
