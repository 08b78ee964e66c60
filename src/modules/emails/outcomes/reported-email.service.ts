import { Injectable } from '@nestjs/common';
import type { EmailKey } from '../../../delivery/ports/delivery';
import { EmailsRepository } from '../emails.repository';
import { hasSeen, type LastingOutcome } from './recipient-state';

/** A recipient as we know it: what a report says of it is a stranger's. */
export interface ReportedRecipient {
  readonly position: number;
  readonly address: string;
  /** Whether an outcome of this kind has been recorded before. */
  readonly has: (kind: LastingOutcome) => boolean;
}

export interface ReportedEmail {
  readonly domainId: string;
  readonly recipients: readonly ReportedRecipient[];
}

/** What is known of an email that somebody reports on. */
@Injectable()
export class ReportedEmails {
  constructor(private readonly emails: EmailsRepository) {}

  /** Undefined once the email is gone. @throws UnavailableError */
  async find(key: EmailKey): Promise<ReportedEmail | undefined> {
    const { organizationId, mode, emailId } = key;
    const email = await this.emails.find({ organizationId, mode, domainId: undefined }, emailId);
    if (!email) return undefined;
    const recipients = await this.emails.findRecipients(key);
    return {
      domainId: email.domainId,
      recipients: recipients.map(({ position, address, seen }) => ({
        position,
        address,
        has: (kind) => hasSeen(seen, kind),
      })),
    };
  }
}
