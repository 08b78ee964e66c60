import { Injectable } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import { addressKey } from '../../../common/mail-address';
import type { Tenant } from '../../../common/tenant';
import type { Transaction } from '../../../database/transaction';
import type { DeliveryKey } from '../../../delivery/ports/delivery';
import type { RecordedOutcome } from '../../../delivery/ports/outcome';
import { DeliveryQueueRepository } from '../../../delivery/queue/delivery-queue.repository';
import { OutcomeRecorder } from '../outcomes/outcome-recorder.service';
import { addressPattern } from './address-pattern';
import {
  type ErasedSubject,
  type IdPage,
  type KeyPlace,
  type NamedEmail,
  type ReceivedRow,
  type SubjectEmailHead,
  SubjectEmailsRepository,
  type SubjectEvent,
  type SubjectRange,
  type SubjectScope,
} from './subject-emails.repository';

/** An email to a data subject, whatever other recipients it had, with all that happened to it. */
export interface SubjectEmail extends SubjectEmailHead {
  /** In the order in which they were recorded, those of other recipients too. */
  readonly events: readonly SubjectEvent[];
}

/** What a page to be exported holds in memory, unless a single email has more. */
const PAGE = { emails: 100, bytes: 4 * 1024 * 1024 };
/** Contents of up to 6 MiB each are rewritten while their emails are locked. */
const RECEIVED = 50;
const SENT = 2_000;
const RESPONSES = 2_000;

export interface ErasedCounts {
  readonly emails: number;
  readonly events: number;
  readonly contents: number;
}

export interface ErasedPage extends ErasedCounts {
  /** Where the next page begins; undefined after the last. */
  readonly next: string | undefined;
}

export interface ErasedDeliveries extends ErasedPage {
  /** The deliveries whose recipient has been erased. */
  readonly deliveries: readonly DeliveryKey[];
  readonly cancelled: number;
  /** Emails that were left alone, because a worker is delivering them to the subject right now. */
  readonly busy: number;
}

const NOTHING: ErasedCounts = { emails: 0, events: 0, contents: 0 };

/**
 * The emails of a data subject in an organization and mode: to be read for an export, or the person to be removed from them
 * page by page, each in the caller's transaction. What is gone is not found again, so that any page can be repeated. What
 * the statistics count stays.
 */
@Injectable()
export class SubjectEmailsService {
  constructor(
    private readonly emails: SubjectEmailsRepository,
    private readonly queue: DeliveryQueueRepository,
    private readonly outcomes: OutcomeRecorder,
    private readonly clock: Clock,
  ) {}

  /** The next page for an export, by id; empty after the last one. @throws UnavailableError */
  async page(scope: SubjectScope, range: SubjectRange): Promise<SubjectEmail[]> {
    const keys = await this.emails.list(scope, range, PAGE);
    if (keys.length === 0) return [];
    const [emails, events] = await Promise.all([this.emails.findEmails(keys), this.emails.findEvents(keys)]);
    const eventsOf = new Map<string, SubjectEvent[]>(emails.map(({ id }) => [id, []]));
    for (const event of events) eventsOf.get(event.emailId)?.push(event);
    return emails.map((email) => ({ ...email, events: eventsOf.get(email.id) ?? [] }));
  }

  /** @param email normal form */
  subjectOf({ organizationId, mode }: Tenant, email: string): ErasedSubject {
    const keys = [...new Set([addressKey(email), email.toLowerCase()])];
    return { organizationId, mode, keys, pattern: addressPattern(email) };
  }

  /** Emails to the subject: open deliveries are cancelled first. */
  async eraseReceived(subject: ErasedSubject, page: IdPage, tx: Transaction): Promise<ErasedDeliveries> {
    const found = await this.emails.findReceived(subject, page, RECEIVED, tx);
    const open = await this.queue.withdrawRecipients(
      found.map((row) => keyOf(subject, row)),
      tx,
    );
    const busy = new Set(open.filter(({ isClaimed }) => isClaimed).map(({ emailId }) => emailId));
    const idle = found.filter(({ emailId }) => !busy.has(emailId));
    const withdrawn = new Set(open.filter(({ isClaimed }) => !isClaimed).map(nameOf));
    const cancelled = found.filter((row) => withdrawn.has(nameOf(row)));
    await this.cancel(subject, cancelled, tx);
    return {
      ...(await this.erase(subject, idle, tx)),
      deliveries: idle.map((row) => keyOf(subject, row)),
      cancelled: cancelled.length,
      busy: busy.size,
      next: found.length < RECEIVED ? undefined : found.at(-1)?.emailId,
    };
  }

  /** Emails from the subject, or that ask for replies to it. */
  async eraseSent(subject: ErasedSubject, page: IdPage, tx: Transaction): Promise<ErasedPage> {
    const { ids, lastId } = await this.emails.findSenders(subject, page, SENT, tx);
    const named = ids.map((emailId) => ({ emailId, position: null }));
    return { ...(await this.erase(subject, named, tx)), next: lastId ?? undefined };
  }

  /** Responses stored under idempotency keys. Returns where the next page begins. */
  eraseResponses(subject: ErasedSubject, after: KeyPlace | undefined, tx: Transaction): Promise<KeyPlace | undefined> {
    return this.emails.eraseResponses(subject, after ?? { path: '', key: '' }, RESPONSES, tx);
  }

  private async cancel(subject: ErasedSubject, rows: readonly ReceivedRow[], tx: Transaction): Promise<void> {
    const outcome = { kind: 'failed', reason: 'cancelled', detail: 'erased' } as const;
    const occurredAt = this.clock.now();
    const cancelled = rows.map((row): RecordedOutcome => {
      const { domainId, address: recipient } = row;
      return { ...keyOf(subject, row), domainId, recipient, outcome, source: 'system', occurredAt };
    });
    await this.outcomes.record(cancelled, tx);
  }

  private async erase(subject: ErasedSubject, emails: readonly NamedEmail[], tx: Transaction): Promise<ErasedCounts> {
    if (emails.length === 0) return NOTHING;
    await this.emails.lock(subject, emails, tx);
    this.emails.eraseRecipients(subject, emails, tx);
    const erased = await this.emails.eraseEmails(subject, emails, this.clock.now(), tx);
    const contents = await this.emails.eraseContents(subject, erased, tx);
    return { emails: erased.length, contents, events: await this.emails.eraseEvents(subject, emails, tx) };
  }
}

function keyOf({ organizationId, mode }: ErasedSubject, { emailId, position }: ReceivedRow): DeliveryKey {
  return { organizationId, mode, emailId, position };
}

function nameOf({ emailId, position }: { emailId: string; position: number }): string {
  return `${emailId} ${position}`;
}

export type { ErasedSubject, IdPage, KeyPlace, SubjectRange, SubjectScope };
