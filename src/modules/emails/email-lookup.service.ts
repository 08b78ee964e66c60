import { Injectable } from '@nestjs/common';
import type { Tenant } from '../../common/tenant';
import type { DeliveryKey, EmailKey } from '../../delivery/ports/delivery';
import type { LastDeferral } from '../../delivery/queue/waiting';
import { SuppressionsService } from '../suppressions/suppressions.service';
import { EmailsRepository, type KeyPlace, type MailRecipient } from './emails.repository';
import { hasSeen, type LastingOutcome } from './outcomes/email-state';
import { isErased } from './outcomes/erased-recipient';
import { OutcomesRepository } from './outcomes/outcomes.repository';
import type { StoredTrace } from './outcomes/stored-trace';

/** The fields of an event that are read here. */
interface Facts {
  readonly eventType: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly trace: StoredTrace | null;
}

/** The result of each recipient's last attempt, by address. @param events of one email, in their order */
export function lastDeferrals(events: readonly Facts[]): Map<string, LastDeferral> {
  const deferrals = events.filter(({ eventType }) => eventType === 'deferred' || eventType === 'unknown');
  return new Map(
    deferrals.map(({ data, trace }) => [
      String(data.recipient),
      {
        ...{ reason: textOf(data.reason), response: textOf(data.response), explanation: textOf(data.explanation) },
        ...{ isReply: typeof data.code === 'number', action: trace?.action, mxHost: textOf(data.mxHost) },
      },
    ]),
  );
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A recipient as stored, as opposed to the untrusted data of a report. */
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

const LISTED_AS = { unsubscribed: 'unsubscribe', spam_report: 'spam_complaint' } as const;

/** Queries for other features: the recipients of signed links, the email of a report. */
@Injectable()
export class EmailLookupService {
  constructor(
    private readonly emails: EmailsRepository,
    private readonly outcomes: OutcomesRepository,
    private readonly suppressions: SuppressionsService,
  ) {}

  /** Undefined when the email has been deleted, or the recipient erased. @throws UnavailableError */
  async findRecipient(key: DeliveryKey): Promise<MailRecipient | undefined> {
    return (await this.findRecipients([key]))[0];
  }

  /** The recipient for each key, in order; undefined as for `findRecipient`, and for an undefined key. @throws UnavailableError */
  async findRecipients(keys: readonly (DeliveryKey | undefined)[]): Promise<(MailRecipient | undefined)[]> {
    const wanted = new Map(keys.flatMap((key) => (key ? [[nameOf(key), key] as const] : [])));
    const found = wanted.size > 0 ? await this.emails.findMailRecipients([...wanted.values()]) : [];
    const present = found.filter(({ address }) => !isErased(address));
    const byName = new Map(present.map((recipient) => [nameOf(recipient), recipient]));
    return keys.map((key) => key && byName.get(nameOf(key)));
  }

  /** Whether the recipient has unsubscribed by this email and is still on the suppression list for that. @throws UnavailableError */
  async isUnsubscribed(recipient: MailRecipient): Promise<boolean> {
    if (!hasSeen(recipient.seen, 'unsubscribed')) return false;
    return this.isListedBy('unsubscribed', recipient, recipient.address);
  }

  /** Whether an address is on the suppression list for the reason that such an outcome lists it for. @throws UnavailableError */
  isListedBy(kind: keyof typeof LISTED_AS, tenant: Tenant, address: string): Promise<boolean> {
    return this.suppressions.isListedFor(LISTED_AS[kind], tenant, address);
  }

  /** The results of the last attempts at some deliveries, in the order given. @throws UnavailableError */
  async lastDeferrals(
    deliveries: readonly (EmailKey & { readonly recipient: string })[],
  ): Promise<(LastDeferral | undefined)[]> {
    const keys = new Map(deliveries.map((key) => [emailOf(key), key]));
    const last = new Map<string, LastDeferral>();
    for (const event of await this.emails.findDeferrals([...keys.values()])) {
      for (const [recipient, deferral] of lastDeferrals([event])) last.set(`${emailOf(event)} ${recipient}`, deferral);
    }
    return deliveries.map((delivery) => last.get(`${emailOf(delivery)} ${delivery.recipient}`));
  }

  /** Up to `limit` of what was sent to an address by any organization, in no order. @param after keys up to this one are left out @throws UnavailableError */
  findAddressed(recipient: string, after: KeyPlace, limit: number): Promise<DeliveryKey[]> {
    return this.emails.findAddressed(recipient, after, limit);
  }

  /** Whether a complaint of the email as a whole has been recorded before. @throws UnavailableError */
  hasComplaint(key: EmailKey): Promise<boolean> {
    return this.outcomes.hasComplaint(key);
  }

  /** The email of a report; undefined when it has been deleted. @throws UnavailableError */
  async findReported(key: EmailKey): Promise<ReportedEmail | undefined> {
    const { organizationId, mode, emailId } = key;
    const email = await this.emails.find({ organizationId, mode }, emailId);
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

function nameOf({ organizationId, mode, emailId, position }: DeliveryKey): string {
  return `${organizationId} ${mode} ${emailId} ${position}`;
}

export type { MailRecipient };

function emailOf({ organizationId, mode, emailId }: EmailKey): string {
  return `${organizationId} ${mode} ${emailId}`;
}
