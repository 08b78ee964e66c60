import { Injectable } from '@nestjs/common';
import { EVENT_LOOP } from '../../../../common/async/fair-turns';
import { HOUR } from '../../../../common/clock';
import { domainOf } from '../../../../common/mail-address';
import { AppConfig, MAX_LIFE_HOURS } from '../../../../config/config';
import { Database } from '../../../../database/pool/database.service';
import type { Statement } from '../../../../database/statements/statement';
import type { Transaction } from '../../../../database/statements/transaction';
import { DeliveryQueueRepository } from '../../../../delivery/queue/delivery-queue.repository';
import type { IdempotencyClaim } from '../request/idempotency';
import { encodedBodies } from './encoded-bodies';
import { deleteExpiredKeys, findStoredResponses, lockIdempotencyKeys, storeResponses } from './sql/idempotency.sql';
import { linkResent } from '../../sql/change-emails.sql';
import { insertAttachments, insertEmails, insertRaw } from './sql/insert-emails.sql';
import {
  addTestUsage,
  type CountedUsage,
  deleteOldMonthlyUsage,
  deleteOldTestUsage,
  type DomainUsage,
  type LockedUsage,
  lockMonthlyUsage,
  lockTestUsage,
  setMonthlyUsage,
  type UsedRecipients,
} from './sql/usage.sql';
import type { AcceptedEmail, KeyedResponse, KeyState } from '../request/send-request';

/** Writes of accepting: emails, the responses under their idempotency keys, counters of limits. */
@Injectable()
export class AcceptRepository {
  constructor(
    private readonly database: Database,
    private readonly queue: DeliveryQueueRepository,
    private readonly config: AppConfig,
  ) {}

  /** Writes the emails with their contents, large ones in several turns of the event loop, and puts their recipients into the queue. */
  async insert(emails: readonly AcceptedEmail[], now: Date, tx: Transaction): Promise<void> {
    if (emails.length === 0) return;
    const holder = (emails[0] as AcceptedEmail).command.organizationId;
    for await (const group of groupsInTurns(emails, weightOf)) {
      tx.write(insertEmails(group, now, await encodedBodies(group)));
    }
    for (const statement of [...insertAttachments(emails), ...insertRaw(emails)]) {
      if (isLarge(statement)) await EVENT_LOOP.next(holder);
      tx.write(statement);
    }
    for (const statement of resentLinks(emails)) tx.write(statement);
    for await (const group of groupsInTurns(emails, weightOfRecipients)) {
      this.queue.enqueue(
        group.flatMap((email) => deliveriesOf(email, now, this.config.delivery.lifeHours)),
        now,
        tx,
      );
    }
  }

  /** The state of each claim, in order; free keys are locked until the transaction ends. */
  async examineKeys(claims: readonly IdempotencyClaim[], now: Date, tx: Transaction): Promise<KeyState[]> {
    const locks = await tx.run(lockIdempotencyKeys(claims));
    const notBefore = this.expiryOf(now);
    const stored = new Map((await tx.run(findStoredResponses(claims, notBefore))).map((row) => [row.index, row]));
    return claims.map((claim, index) => {
      const known = stored.get(index);
      if (known) {
        const same = claim.fingerprint.equals(known.fingerprint);
        return same ? { kind: 'stored', response: known.response } : { kind: 'reused' };
      }
      return locks[index]?.locked ? { kind: 'free' } : { kind: 'in_progress' };
    });
  }

  /** Stores responses under their keys, in the transaction that writes the emails. */
  storeResponses(responses: readonly KeyedResponse[], now: Date, tx: Transaction): void {
    if (responses.length > 0) tx.write(storeResponses(responses, now));
  }

  /** Locks the counters of the domains and returns their values. @param day a UTC date */
  lockTestUsage(
    domains: readonly { organizationId: string; domainId: string }[],
    day: string,
    tx: Transaction,
  ): Promise<DomainUsage[]> {
    return tx.run(lockTestUsage(domains, day));
  }

  async addTestUsage(used: readonly UsedRecipients[], day: string, tx: Transaction): Promise<void> {
    await tx.run(addTestUsage(used, day));
  }

  /** Returns the number of deleted keys. */
  async deleteExpiredKeys(now: Date, limit: number): Promise<number> {
    return (await this.database.run(deleteExpiredKeys(this.expiryOf(now), limit))).length;
  }

  /** Locks the counters of the organizations and returns their values. @param month its first day, a UTC date */
  lockMonthlyUsage(organizationIds: readonly string[], month: string, tx: Transaction): Promise<LockedUsage[]> {
    return tx.run(lockMonthlyUsage(organizationIds, month));
  }

  async setMonthlyUsage(usages: readonly CountedUsage[], month: string, tx: Transaction): Promise<void> {
    await tx.run(setMonthlyUsage(usages, month));
  }

  /** Returns the number of deleted rows. @param before a UTC date */
  async deleteMonthlyUsageBefore(before: string): Promise<number> {
    return (await this.database.run(deleteOldMonthlyUsage(before))).length;
  }

  /** Returns the number of deleted rows. @param before a UTC date */
  async deleteTestUsageBefore(before: string): Promise<number> {
    return (await this.database.run(deleteOldTestUsage(before))).length;
  }

  /** Keys that were stored before this time have expired. */
  private expiryOf(now: Date): Date {
    return new Date(now.getTime() - this.config.retention.idempotencyHours * HOUR);
  }
}

/**
 * Characters of html and text that are put into one statement in one turn of the event loop, which takes some milliseconds; a
 * recipient has a weight of its own.
 */
const GROUP = 2 * 1024 * 1024;
const RECIPIENT = GROUP / 1_000;

type Weigh = (email: AcceptedEmail) => number;

/** Splits emails into groups of limited weight and yields to the event loop between them; most batches are one group. */
async function* groupsInTurns(emails: readonly AcceptedEmail[], weigh: Weigh): AsyncGenerator<AcceptedEmail[]> {
  const groups = groupsOf(emails, weigh);
  for (const group of groups) {
    if (groups.length > 1) await EVENT_LOOP.next((group[0] as AcceptedEmail).command.organizationId);
    yield group;
  }
}

function groupsOf(emails: readonly AcceptedEmail[], weigh: Weigh): AcceptedEmail[][] {
  const groups: AcceptedEmail[][] = [];
  let left = 0;
  for (const email of emails) {
    const weight = weigh(email);
    left -= weight;
    if (left >= 0 && groups.length > 0) groups.at(-1)?.push(email);
    else {
      groups.push([email]);
      left = GROUP - weight;
    }
  }
  return groups;
}

function weightOf(email: AcceptedEmail): number {
  const { html = '', text = '' } = email.command.request;
  return html.length + text.length + weightOfRecipients(email);
}

function weightOfRecipients({ recipients }: AcceptedEmail): number {
  return recipients.length * RECIPIENT;
}

/** Whether a statement has a large parameter, which the driver copies. */
function isLarge({ values }: Statement<never>): boolean {
  return values.some((value) => Buffer.isBuffer(value) && value.length > GROUP / 4);
}

/** Links of resent emails, in the order of the originals' ids, whose rows they lock. */
function resentLinks(emails: readonly AcceptedEmail[]) {
  const repeated = emails.flatMap(({ id, command: { organizationId, mode, request } }) =>
    request.resentFrom === undefined ? [] : [{ id, original: { organizationId, mode, emailId: request.resentFrom } }],
  );
  repeated.sort((one, other) => (one.original.emailId < other.original.emailId ? -1 : 1));
  return repeated.flatMap(({ id, original }) => linkResent(original, id));
}

type LifeHours = AppConfig['delivery']['lifeHours'];

function deliveriesOf({ id, command, recipients }: AcceptedEmail, now: Date, life: LifeHours) {
  const { organizationId, mode, domain, request, trace } = command;
  const dueAt = request.scheduledAt ?? now;
  const expiresAt = request.expiresAt ?? defaultExpiry(dueAt, life[request.category]);
  return recipients.map((recipient, position) => ({
    organizationId,
    mode,
    emailId: id,
    position,
    domainId: domain.id,
    recipient: recipient.email,
    destination: domainOf(recipient.email),
    category: request.category,
    dueAt,
    expiresAt,
    traceContext: trace,
  }));
}

/** Null: the engine's own limit applies, which ends as a bounce. */
function defaultExpiry(dueAt: Date, hours: number): Date | null {
  return hours < MAX_LIFE_HOURS ? new Date(dueAt.getTime() + hours * HOUR) : null;
}
