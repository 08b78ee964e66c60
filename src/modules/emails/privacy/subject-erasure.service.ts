import { Injectable } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import { AddressFinder } from '../../../common/erasure/address-finder';
import { lowerForms } from '../../../common/address-forms';
import type { Tenant } from '../../../common/tenant';
import type { Transaction } from '../../../database/statements/transaction';
import type { DeliveryKey } from '../../../delivery/ports/delivery';
import type { RecordedOutcome } from '../../../delivery/ports/outcome';
import { DeliveryQueueRepository } from '../../../delivery/queue/delivery-queue.repository';
import { OutcomeRecorder } from '../outcomes/outcome-recorder.service';
import { AttachmentEraser, type AttachmentPlace } from './attachment-eraser.service';
import { EmailEraser, type ErasedCounts, type NamedEmail } from './email-eraser.service';
import type { ErasableEmail } from './sql/find-erasable.sql';
import {
  ErasableEmailsRepository,
  type ErasedSubject,
  type IdPage,
  type KeyPlace,
  type ReceivedRow,
} from './subject-emails.repository';

const RECEIVED = 50;
const SENT = { examined: 2_000, found: 50 };
/** Responses per page, until they have so many bytes: that of a batch to suppressed recipients may have more than a MB. */
const RESPONSES = { keys: 500, bytes: 512 * 1024 };

/** A delivery to the subject, or an email from the subject, without a position. */
interface PreparedEmail extends NamedEmail {
  readonly domainId: string;
  readonly address: string;
}

/** What the next page will erase. */
export interface PreparedPage {
  readonly emails: readonly PreparedEmail[];
  /** Start of the next page; undefined after the last. */
  readonly next: string | undefined;
  /** Set when an attachment was searched, which is all that this page does. */
  readonly attachment?: AttachmentPlace;
}

export interface ErasedDeliveries extends ErasedCounts {
  /** The deliveries whose recipient has been erased. */
  readonly deliveries: readonly DeliveryKey[];
  readonly cancelled: number;
  /** Emails skipped because a worker is delivering them to the subject right now. */
  readonly busy: number;
}

/**
 * Removes a data subject from the emails of an organization and mode, page by page. Matches are found and attachments searched
 * before the caller's transaction, which does the rest. Erased data is not found again, so any page can be repeated.
 * Statistics keep their counts.
 */
@Injectable()
export class SubjectErasureService {
  constructor(
    private readonly emails: ErasableEmailsRepository,
    private readonly attachments: AttachmentEraser,
    private readonly eraser: EmailEraser,
    private readonly queue: DeliveryQueueRepository,
    private readonly outcomes: OutcomeRecorder,
    private readonly clock: Clock,
  ) {}

  /** @param email normal form */
  subjectOf({ organizationId, mode }: Tenant, email: string): ErasedSubject {
    return { organizationId, mode, keys: lowerForms(email), finder: new AddressFinder(email) };
  }

  /** Finds the next emails to the subject. @throws UnavailableError */
  async prepareReceived(subject: ErasedSubject, page: IdPage, place?: AttachmentPlace): Promise<PreparedPage> {
    const rows = await this.emails.findReceived(subject, page, RECEIVED);
    const next = rows.length < RECEIVED ? undefined : rows.at(-1)?.emailId;
    return this.prepare(subject, rows, { after: page.after, next, place });
  }

  /** Finds the next emails from the subject, or with its address as reply-to. @throws UnavailableError */
  async prepareSent(subject: ErasedSubject, page: IdPage, place?: AttachmentPlace): Promise<PreparedPage> {
    const { ids, lastId } = await this.emails.findSenders(subject, page, SENT);
    const rows = ids.map((emailId) => ({ emailId, position: null, address: '' }));
    return this.prepare(subject, rows, { after: page.after, next: lastId ?? undefined, place });
  }

  /** The deliveries to the subject in a page. */
  deliveriesOf(subject: ErasedSubject, { emails }: PreparedPage): DeliveryKey[] {
    return emails.filter(isDelivery).map((row) => keyOf(subject, row));
  }

  /** Erases a page; cancels its open deliveries first. */
  async eraseReceived(subject: ErasedSubject, { emails }: PreparedPage, tx: Transaction): Promise<ErasedDeliveries> {
    const found = emails.filter(isDelivery);
    const open = await this.queue.withdrawRecipients(
      found.map((row) => keyOf(subject, row)),
      tx,
    );
    const busy = new Set(open.filter(({ isClaimed }) => isClaimed).map(({ emailId }) => emailId));
    const idle = found.filter(({ emailId }) => !busy.has(emailId));
    const withdrawn = new Set(open.filter(({ isClaimed }) => !isClaimed).map(nameOf));
    const cancelled = found.filter((row) => withdrawn.has(nameOf(row)));
    await this.lock(subject, [...idle, ...cancelled], tx);
    await this.cancel(subject, cancelled, tx);
    return {
      ...(await this.eraser.erase(subject, idle, tx)),
      deliveries: idle.map((row) => keyOf(subject, row)),
      cancelled: cancelled.length,
      busy: busy.size,
    };
  }

  eraseSent(subject: ErasedSubject, { emails }: PreparedPage, tx: Transaction): Promise<ErasedCounts> {
    return this.eraser.erase(subject, emails, tx);
  }

  /** Erases the subject from responses stored under idempotency keys; the keys stay valid. Returns the start of the next page. */
  async eraseResponses(
    subject: ErasedSubject,
    after: KeyPlace = { path: '', key: '' },
    tx: Transaction,
  ): Promise<KeyPlace | undefined> {
    const found = await this.emails.readStoredKeys(subject, after, RESPONSES, tx);
    const erased = await subject.finder.turns.map(found, async (row) => ({
      ...row,
      response: await subject.finder.cleanValue(row.response),
      isHashed: subject.finder.holdsWithin(row.key),
    }));
    const changed = erased.filter(({ isHashed, response }, index) => isHashed || response !== found[index]?.response);
    if (changed.length > 0) this.emails.writeStoredKeys(subject, changed, tx);
    const last = found.at(-1);
    return last && { path: last.path, key: last.key };
  }

  private async prepare(
    subject: ErasedSubject,
    rows: readonly (Omit<ReceivedRow, 'position'> & { readonly position: number | null })[],
    { after, next, place }: { after: string; next: string | undefined; place: AttachmentPlace | undefined },
  ): Promise<PreparedPage> {
    if (rows.length === 0) return { emails: [], next };
    const measured = await this.emails.measure(subject, [...new Set(rows.map(({ emailId }) => emailId))]);
    const batch = nextBatch(measured, place?.isDone ? place.emailId : undefined);
    if (batch.kind === 'attachments') {
      const attachment = await this.attachments.eraseNext(subject, batch.emailId, place);
      return { emails: [], next: after, attachment };
    }
    const taken = new Map(batch.emails.map((email) => [email.emailId, email]));
    const emails = rows.flatMap(({ emailId, position, address }): PreparedEmail[] => {
      const found = taken.get(emailId);
      return found ? [{ emailId, position, address, domainId: found.domainId, isShared: found.isShared }] : [];
    });
    return { emails, next: batch.isAll ? next : batch.emails.at(-1)?.emailId };
  }

  /**
   * Locks all rows at once, in the common lock order: locking some first and others later could deadlock with workers' results.
   */
  private async lock(subject: ErasedSubject, rows: readonly DeliveryTo[], tx: Transaction): Promise<void> {
    if (rows.length > 0) await this.emails.lock(subject, [...new Set(rows.map(({ emailId }) => emailId))], tx);
  }

  private async cancel(subject: ErasedSubject, rows: readonly DeliveryTo[], tx: Transaction): Promise<void> {
    const outcome = { kind: 'failed', reason: 'cancelled', detail: 'erased' } as const;
    const occurredAt = this.clock.now();
    const cancelled = rows.map((row): RecordedOutcome => {
      const { domainId, address: recipient } = row;
      return { ...keyOf(subject, row), domainId, recipient, outcome, source: 'system', occurredAt };
    });
    await this.outcomes.record(cancelled, tx);
  }
}

type DeliveryTo = PreparedEmail & { readonly position: number };

function isDelivery(email: PreparedEmail): email is DeliveryTo {
  return email.position !== null;
}

function keyOf({ organizationId, mode }: ErasedSubject, { emailId, position }: DeliveryTo): DeliveryKey {
  return { organizationId, mode, emailId, position };
}

function nameOf({ emailId, position }: { emailId: string; position: number }): string {
  return `${emailId} ${position}`;
}

export type { AttachmentPlace, ErasedCounts, ErasedSubject, IdPage, KeyPlace };

const MIB = 1024 * 1024;
/** Bytes searched or deleted in one transaction, about a second, unless a single email has more. */
const MAX_BYTES = 8 * MIB;

/** The emails that can be erased in one step. */
export type ErasureBatch =
  /** The attachments of this email, one by one, before the rest of it: once erased, the email is not found again. */
  | { readonly kind: 'attachments'; readonly emailId: string }
  | { readonly kind: 'emails'; readonly emails: readonly ErasableEmail[]; readonly isAll: boolean };

/** @param emails in the order of ids @param doneEmailId an email whose attachments have been searched */
export function nextBatch(emails: readonly ErasableEmail[], doneEmailId: string | undefined): ErasureBatch {
  const isOpen = (email: ErasableEmail) => email.isShared && email.hasAttachments && email.emailId !== doneEmailId;
  const [first] = emails;
  if (first && isOpen(first)) return { kind: 'attachments', emailId: first.emailId };
  let bytes = 0;
  const taken: ErasableEmail[] = [];
  for (const email of emails) {
    bytes += email.bytes;
    if (taken.length > 0 && (bytes > MAX_BYTES || isOpen(email))) break;
    taken.push(email);
  }
  return { kind: 'emails', emails: taken, isAll: taken.length === emails.length };
}
