import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { AppError } from '../../common/errors/app-error';
import { Database } from '../../database/database.service';
import type { RecordedOutcome } from '../../delivery/ports/outcome';
import { DeliveryQueueRepository } from '../../delivery/queue/delivery-queue.repository';
import type { Email } from './email.entity';
import type { EmailRecipient } from './email-recipient.entity';
import { OutcomeRecorder } from './outcomes/outcome-recorder.service';

/** Calls back an email that no worker has begun. */
@Injectable()
export class CancelEmailService {
  constructor(
    private readonly database: Database,
    private readonly queue: DeliveryQueueRepository,
    private readonly outcomes: OutcomeRecorder,
    private readonly clock: Clock,
  ) {}

  /** All recipients or none. @throws AppError email_not_cancellable */
  async cancel(email: Email, recipients: readonly EmailRecipient[]): Promise<void> {
    const { organizationId, mode, id: emailId, domainId } = email;
    await this.database.transaction(async (tx) => {
      const withdrawn = await this.queue.withdraw({ organizationId, mode, emailId }, tx);
      if (withdrawn.length < recipients.length) {
        throw new AppError('email_not_cancellable', 'The email is no longer scheduled or queued', {
          details: { status: email.status },
        });
      }
      const occurredAt = this.clock.now();
      const outcome = { kind: 'failed', reason: 'cancelled' } as const;
      const cancelled = recipients.map(({ position, address }): RecordedOutcome => {
        const key = { organizationId, mode, emailId, position };
        return { ...key, domainId, recipient: address, outcome, source: 'api', occurredAt };
      });
      await this.outcomes.record(cancelled, tx);
    });
  }
}
