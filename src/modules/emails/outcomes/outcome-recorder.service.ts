import { Injectable } from '@nestjs/common';
import { Clock } from '../../../common/clock';
import type { Transaction } from '../../../database/statements/transaction';
import type { EmailKey } from '../../../delivery/ports/delivery';
import { OutcomeSink, type RecordedOutcome } from '../../../delivery/ports/outcome';
import { RecentStreams } from '../../events/recent-streams.service';
import { StatsService } from '../../stats/stats.service';
import { SuppressionsService } from '../../suppressions/suppressions.service';
import { applyOutcomes } from './apply-outcomes';
import type { EmailChanges, EmailState } from './email-state';
import { OutcomesRepository } from './outcomes.repository';

/** A complaint about an email with several recipients that cannot be assigned to one of them. */
export interface EmailComplaint extends EmailKey {
  readonly occurredAt: Date;
  /** The data of the event. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** The single entry point for everything that happens to an email after acceptance; records it within the caller's transaction. */
@Injectable()
export class OutcomeRecorder extends OutcomeSink {
  constructor(
    private readonly outcomes: OutcomesRepository,
    private readonly stats: StatsService,
    private readonly suppressions: SuppressionsService,
    private readonly streams: RecentStreams,
    private readonly clock: Clock,
  ) {
    super();
  }

  async record(outcomes: readonly RecordedOutcome[], tx: Transaction): Promise<void> {
    if (outcomes.length === 0) return;
    const byEmail = groupByEmail(outcomes);
    const locked = await this.outcomes.lock(
      [...byEmail.values()].map((group) => group[0] as EmailKey),
      tx,
    );
    const emails = await this.outcomes.withDeliveredTo(locked, outcomes.filter(arrivedByMail), tx);
    const changes = emails.map((email) => applyOutcomes(email, byEmail.get(email.emailId) ?? []));
    if (changes.length === 0) return;
    const deltas = changes.flatMap((change) => change.deltas);
    const suppressions = changes.flatMap((change) => change.suppressions);
    await this.outcomes.write(changes, this.clock.now(), tx);
    this.streams.note(emails);
    this.stats.record(deltas, tx);
    this.suppressions.suppress(suppressions, tx);
    this.suppressions.recordSoftBounces(
      changes.flatMap((change) => change.softBounces),
      tx,
    );
    this.suppressions.recordMissingDomains(
      changes.flatMap((change) => change.missingDomains),
      tx,
    );
  }

  /** Records a complaint about an email as a whole; a repetition records nothing. */
  async recordComplaint(complaint: EmailComplaint, tx: Transaction): Promise<void> {
    const [email] = await this.outcomes.lock([complaint], tx);
    if (!email || (await this.outcomes.hasComplaint(complaint, tx))) return;
    const changes = applyComplaint(email, complaint);
    await this.outcomes.write([changes], this.clock.now(), tx);
    this.streams.note([complaint]);
    this.stats.record(changes.deltas, tx);
  }
}

function arrivedByMail({ source }: RecordedOutcome): boolean {
  return source === 'dsn' || source === 'feedback_loop';
}

function groupByEmail(outcomes: readonly RecordedOutcome[]): Map<string, RecordedOutcome[]> {
  const groups = new Map<string, RecordedOutcome[]>();
  for (const outcome of outcomes) {
    const group = groups.get(outcome.emailId);
    if (group) group.push(outcome);
    else groups.set(outcome.emailId, [outcome]);
  }
  return groups;
}

/** Adds an event and counts the complaint: no recipient changes its state, and no address is suppressed. */
function applyComplaint(email: EmailState, { occurredAt, data }: EmailComplaint): EmailChanges {
  const { organizationId, mode, emailId, domainId, status } = email;
  const sequence = email.eventSequence + 1;
  const event = { eventType: 'spam_report', source: 'feedback_loop', data: { ...data } };
  return {
    ...{ organizationId, mode, emailId, status, eventSequence: sequence },
    times: { sentAt: null, deliveredAt: null, bouncedAt: null, failedAt: null },
    ...{ opens: 0, clicks: 0, recipients: [] },
    events: [{ organizationId, mode, emailId, sequence, occurredAt, ...event }],
    deltas: [{ organizationId, mode, domainId, occurredAt, counter: 'complaints', by: 1 }],
    ...{ suppressions: [], softBounces: [], missingDomains: [] },
  };
}
