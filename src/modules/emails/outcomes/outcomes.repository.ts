import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { IsNull, Not, type Repository } from 'typeorm';
import { compactEvents, plainEvents } from '../../events/event-rows';
import { groupByTenant, type Tenant } from '../../../common/tenant';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import type { EmailKey } from '../../../delivery/ports/delivery';
import type { EmailChanges, EmailState, RecipientState } from './email-state';
import { findComplaint, findDeliveredTo, loadRecipients, lockEmails } from './sql/lock-emails.sql';
import {
  countEvents,
  type EventPosition,
  listStoredReplies,
  type RenamedBatch,
  renamePhases,
  type StoredReply,
} from './sql/stored-events.sql';
import { claimStatsCheck, recountAccepted, recountEvents } from './sql/stats-check.sql';
import { insertEvents, readCompactSince, writeOutcomes } from './sql/write-outcomes.sql';
import { StatsCheckRun } from './stats-check.entity';
import type { RecountedRow, RecountPage } from './stats-counts';

/** The state that outcomes change, and the events that are recounted to check the statistics. */
@Injectable()
export class OutcomesRepository {
  private compactSince: Date | undefined;

  constructor(
    private readonly database: Database,
    @InjectRepository(StatsCheckRun) private readonly checks: Repository<StatsCheckRun>,
  ) {}

  /** The emails with their recipients, locked until the transaction ends; unknown ones are left out. */
  async lock(keys: readonly EmailKey[], tx: Transaction): Promise<EmailState[]> {
    const tenants = groupByTenant(keys).map(({ tenant, rows }) => ({ tenant, ids: rows.map((row) => row.emailId) }));
    // Sent together, but run sequentially: the snapshots of later statements are taken once the first ones hold their locks.
    const [emails, loaded] = await Promise.all([
      Promise.all(tenants.map(({ tenant, ids }) => tx.run(lockEmails(tenant, ids)))),
      Promise.all(tenants.map(({ tenant, ids }) => tx.run(loadRecipients(tenant, ids)))),
    ]);
    const recipients = new Map<string, RecipientState[]>();
    for (const recipient of loaded.flat()) {
      const known = recipients.get(recipient.emailId);
      if (known) known.push(recipient);
      else recipients.set(recipient.emailId, [recipient]);
    }
    return emails.flat().map((email) => ({ ...email, recipients: recipients.get(email.emailId) ?? [] }));
  }

  /** The locked emails with the mail exchangers that accepted them, for the few outcomes that need them. */
  async withDeliveredTo(
    emails: readonly EmailState[],
    asking: readonly EmailKey[],
    tx: Transaction,
  ): Promise<readonly EmailState[]> {
    const tenants = groupByTenant(asking).map(({ tenant, rows }) => ({ tenant, ids: rows.map((row) => row.emailId) }));
    const found = await Promise.all(tenants.map(({ tenant, ids }) => tx.run(findDeliveredTo(tenant, ids))));
    const hosts = new Map(found.flat().map(({ emailId, recipient, mxHost }) => [`${emailId} ${recipient}`, mxHost]));
    if (hosts.size === 0) return emails;
    return emails.map((email) => ({
      ...email,
      recipients: email.recipients.map((recipient) => {
        const deliveredTo = hosts.get(`${email.emailId} ${recipient.address}`);
        return deliveredTo === undefined ? recipient : { ...recipient, deliveredTo };
      }),
    }));
  }

  /** Whether a complaint about the email as a whole has been recorded. */
  async hasComplaint(key: EmailKey, db: Pick<Transaction, 'run'> = this.database): Promise<boolean> {
    return (await db.run(findComplaint(key))).length > 0;
  }

  async write(changes: readonly EmailChanges[], now: Date, tx: Transaction): Promise<void> {
    if (!this.database.isDistributed) tx.write(writeOutcomes(changes, now));
    else for (const { tenant, rows } of groupByTenant(changes)) tx.write(writeOutcomes(rows, now, tenant));
    if (!changes.some(({ events }) => events.length > 0)) return;
    this.compactSince ??= (await tx.run(readCompactSince()))[0]?.since;
    const asRows = this.compactSince && this.compactSince <= now ? compactEvents : plainEvents;
    tx.write(insertEvents(changes.flatMap(({ events }) => asRows(events))));
  }

  recountEvents(page: RecountPage, limit: number): Promise<RecountedRow[]> {
    return this.database.run(recountEvents(page, limit));
  }

  /** One page of a tenant's events, some of which are refusals. @param after id of the last event of the page before */
  listReplies(tenant: Tenant, after: string, limit: number): Promise<StoredReply[]> {
    return this.database.run(listStoredReplies(tenant, after, limit));
  }

  recountAccepted(page: RecountPage, endId: string, limit: number): Promise<RecountedRow[]> {
    return this.database.run(recountAccepted(page, endId, limit));
  }

  /** An estimate of the number of events. */
  async estimateEvents(): Promise<number> {
    const [row] = await this.database.run(countEvents());
    return Math.round(row?.rows ?? 0);
  }

  /** Renames phases in the next events of one organization; undefined when there are no more. */
  async renamePhases(
    after: EventPosition,
    names: ReadonlyMap<string, string>,
    limit: number,
    tx: Transaction,
  ): Promise<RenamedBatch | undefined> {
    return (await tx.run(renamePhases(after, names, limit)))[0];
  }

  /** Returns false when the day's check is done, or another process runs it. */
  async claimCheck(day: string, now: Date, abandonedBefore: Date): Promise<boolean> {
    return (await this.database.run(claimStatsCheck(day, now, abandonedBefore))).length > 0;
  }

  async finishCheck(day: string, drift: number, now: Date): Promise<void> {
    await this.checks.update({ day }, { drift, finishedAt: now });
  }

  /** Number of counters that differed on the last checked day; undefined before the first check. */
  async newestDrift(): Promise<number | undefined> {
    const [newest] = await this.checks.find({
      where: { finishedAt: Not(IsNull()) },
      order: { day: 'DESC' },
      take: 1,
    });
    return newest?.drift ?? undefined;
  }
}
