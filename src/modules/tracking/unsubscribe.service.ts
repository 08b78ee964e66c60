import { Injectable } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { NotFoundError } from '../../common/errors/app-error';
import { domainOf, maskAddress } from '../../common/mail-address';
import { Database } from '../../database/database.service';
import type { RecordedOutcome } from '../../delivery/ports/outcome';
import { OutcomeRecorder } from '../emails/outcomes/outcome-recorder.service';
import { EmailLookupService, type MailRecipient } from '../emails/email-lookup.service';
import { RecipientLinksService } from '../emails/recipient-links.service';

/** `one-click`: the mail program's own button (RFC 8058); `page`: the button on our page. */
export type UnsubscribeMethod = 'one-click' | 'page';

/** What the page shows. The address is masked because others may open the link of a forwarded mail. */
export interface Subscription {
  readonly senderDomain: string;
  /** `j***@example.com` */
  readonly maskedAddress: string;
}

/** Unsubscribes a recipient, identified by the signed link in a mail, from the bulk mail of an organization. */
@Injectable()
export class UnsubscribeService {
  constructor(
    private readonly links: RecipientLinksService,
    private readonly recipients: EmailLookupService,
    private readonly outcomes: OutcomeRecorder,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Reads only. @throws NotFoundError when the token is invalid or its email no longer exists */
  async find(token: string): Promise<Subscription> {
    return describe(await this.recipientOf(token));
  }

  /**
   * Committed when it resolves. A repetition writes nothing, unless the suppression has been removed meanwhile: then it is added again.
   * @throws NotFoundError as `find` does
   */
  async unsubscribe(token: string, method: UnsubscribeMethod): Promise<Subscription> {
    const recipient = await this.recipientOf(token);
    if (!(await this.recipients.isUnsubscribed(recipient))) await this.record(recipient, method);
    return describe(recipient);
  }

  private async record(recipient: MailRecipient, method: UnsubscribeMethod): Promise<void> {
    const { organizationId, mode, emailId, position, domainId, address } = recipient;
    const outcome: RecordedOutcome = {
      ...{ organizationId, mode, emailId, position, domainId },
      recipient: address,
      outcome: { kind: 'unsubscribed', data: { method } },
      source: 'tracking',
      occurredAt: this.clock.now(),
    };
    await this.database.transaction((tx) => this.outcomes.record([outcome], tx));
  }

  private async recipientOf(token: string): Promise<MailRecipient> {
    const key = await this.links.open('unsubscribe', token);
    const recipient = key && (await this.recipients.findRecipient(key));
    if (!recipient) throw new NotFoundError('Link');
    return recipient;
  }
}

function describe({ fromEmail, address }: Pick<MailRecipient, 'fromEmail' | 'address'>): Subscription {
  return { senderDomain: domainOf(fromEmail), maskedAddress: maskAddress(address) };
}
