import { domainOf } from '../../../common/mail-address';
import type { ReplyClassification } from '../../../delivery/policy/replies/classify-reply';
import { isAutomated, MEMBER_FAILED, type RecordedOutcome } from '../../../delivery/ports/outcome';
import { providerOf } from '../../../delivery/ports/provider-profiles';
import { type Counter, isCountedByProvider, type StatDelta } from '../../stats/stats.service';
import type { MissingDomainLookup, NewSuppression, SoftBounce } from '../../suppressions/suppressions.service';
import {
  type EmailChanges,
  type EmailState,
  foldStatus,
  hasSeen,
  type LastingOutcome,
  type NewEvent,
  type RecipientState,
  recipientStatus,
  withHardBounce,
  withSeen,
} from './email-state';
import { hasErased, isErased, withoutNames, withoutPerson } from './erased-recipient';
import { eventsOf } from './outcome-events';
import { toStoredTrace } from './stored-trace';

/**
 * Applies outcomes of one email to its state. Pure: the same outcomes in any order, once or twice, lead to the same
 * status, the same recipients' states and the same counters; only the events' sequence shows the order of arrival.
 */
export function applyOutcomes(email: EmailState, outcomes: readonly RecordedOutcome[]): EmailChanges {
  const fold = new EmailFold(email);
  for (const outcome of outcomes) fold.apply(outcome);
  return fold.changes();
}

type Times = EmailChanges['times'];

const TIME_OF = { sent: 'sentAt', delivered: 'deliveredAt', bounced: 'bouncedAt', failed: 'failedAt' } as const;

const COUNTER_OF: Partial<Record<LastingOutcome, Counter>> = {
  sent: 'sent',
  delivered: 'delivered',
  bounced: 'bounced',
  failed: 'failed',
  spam_report: 'complaints',
  unsubscribed: 'unsubscribes',
  opened: 'opens',
  clicked: 'clicks',
};

/**
 * Limit of events per email, since opens, clicks and changes of its time are unlimited: beyond it only opens and clicks that count
 * are added, one of each recipient, and its time is not changed.
 */
export const MAX_EVENTS = 1_000;

class EmailFold {
  private readonly recipients: Map<number, RecipientState>;
  private readonly changed = new Set<number>();
  private readonly events: NewEvent[] = [];
  private readonly deltas: StatDelta[] = [];
  private readonly suppressions: NewSuppression[] = [];
  private readonly softBounces: SoftBounce[] = [];
  private readonly missingDomains: MissingDomainLookup[] = [];
  private readonly times: Times = { sentAt: null, deliveredAt: null, bouncedAt: null, failedAt: null };
  private opens = 0;
  private clicks = 0;
  private announcedAsQueued: boolean;
  private readonly hasErased: boolean;

  constructor(private readonly email: EmailState) {
    this.recipients = new Map(email.recipients.map((recipient) => [recipient.position, recipient]));
    this.hasErased = hasErased(email);
    this.announcedAsQueued = email.status !== 'scheduled';
  }

  apply(recorded: RecordedOutcome): void {
    const recipient = this.recipients.get(recorded.position);
    if (!recipient || this.isOneTooMany(recorded, recipient)) return;
    const outcome = this.withoutErased(recorded, recipient);
    this.announceDue(outcome);
    const events = eventsOf(outcome, recipient);
    const trace = outcome.trace && toStoredTrace(outcome.trace);
    // A delivery has two events; only the last one gets the trace of the attempt.
    for (const event of events) this.append(event, outcome, event === events.at(-1) ? trace : undefined);
    const seen = this.markSeen(outcome, recipient.seen);
    this.recipients.set(outcome.position, nextState(recipient, outcome, seen));
    this.changed.add(outcome.position);
  }

  changes(): EmailChanges {
    const { organizationId, mode, emailId } = this.email;
    return {
      organizationId,
      mode,
      emailId,
      status: foldStatus([...this.recipients.values()].map((recipient) => recipient.status)),
      eventSequence: this.email.eventSequence + this.events.length,
      times: this.times,
      opens: this.opens,
      clicks: this.clicks,
      recipients: [...this.recipients.values()].filter((recipient) => this.changed.has(recipient.position)),
      events: this.events,
      deltas: this.deltas,
      suppressions: this.suppressions,
      softBounces: this.softBounces,
      missingDomains: this.missingDomains,
    };
  }

  /** The outcome without data of persons who have been erased from the email. */
  private withoutErased(recorded: RecordedOutcome, { address }: RecipientState): RecordedOutcome {
    if (isErased(address)) return withoutPerson(recorded, address);
    return this.hasErased ? withoutNames(recorded) : recorded;
  }

  private isOneTooMany({ outcome }: RecordedOutcome, { seen }: RecipientState): boolean {
    if (outcome.kind !== 'opened' && outcome.kind !== 'clicked') return false;
    const counts = !isAutomated(outcome) && !hasSeen(seen, outcome.kind);
    return !counts && this.email.eventSequence + this.events.length >= MAX_EVENTS;
  }

  /** A scheduled email becomes queued when its first attempt starts. */
  private announceDue(outcome: RecordedOutcome): void {
    if (this.announcedAsQueued || outcome.outcome.kind !== 'sending') return;
    this.announcedAsQueued = true;
    this.append({ eventType: 'queued', source: 'system', data: {} }, outcome);
  }

  /** Copies field by field, as below: objects made with `...rest` are slow, and every mail has several events. */
  private append(
    { eventType, source, data }: Pick<NewEvent, 'eventType' | 'source' | 'data'>,
    { occurredAt }: RecordedOutcome,
    trace?: NewEvent['trace'],
  ): void {
    const { organizationId, mode, emailId, eventSequence } = this.email;
    const sequence = eventSequence + this.events.length + 1;
    this.events.push({ organizationId, mode, emailId, sequence, occurredAt, eventType, source, data, trace });
  }

  /** Adds the outcome to the recipient's set and counts new ones. */
  private markSeen(outcome: RecordedOutcome, seen: number): number {
    const { kind } = outcome.outcome;
    if (kind === 'deferred' || kind === 'unknown') {
      this.count('deferred', outcome);
      return seen;
    }
    if (isAutomated(outcome.outcome)) return seen;
    if (kind === 'opened') this.opens += 1;
    if (kind === 'clicked') this.clicks += 1;
    return this.markLasting(kind, outcome, seen);
  }

  private markLasting(kind: LastingOutcome, outcome: RecordedOutcome, seen: number): number {
    // A delivery counts as sent as well.
    const kinds: LastingOutcome[] = kind === 'delivered' ? ['sent', 'delivered'] : [kind];
    // A repetition does not count again, but it may have an earlier time, or a reason to suppress the address.
    for (const lasting of kinds) this.noteTime(lasting, outcome.occurredAt);
    if (!isErased(outcome.recipient)) this.list(outcome, seen);
    const before = isHardBounce(outcome) ? withHardBounce(seen) : seen;
    return kinds
      .filter((lasting) => !hasSeen(seen, lasting))
      .reduce((set, lasting) => {
        const counter = COUNTER_OF[lasting];
        if (counter) this.count(counter, outcome);
        if (isExcused(outcome)) this.count('excused', outcome);
        return withSeen(set, lasting);
      }, before);
  }

  private list(outcome: RecordedOutcome, seen: number): void {
    const reason = suppressionReason(outcome);
    if (reason) this.suppressions.push({ ...this.owner(), email: outcome.recipient, reason });
    if (isDomainMissing(outcome)) this.missingDomains.push({ ...this.owner(), email: outcome.recipient });
    if (isSoftBounce(outcome) && !hasSeen(seen, 'bounced')) {
      this.softBounces.push({ ...this.owner(), email: outcome.recipient, at: outcome.occurredAt });
    }
  }

  private noteTime(lasting: LastingOutcome, occurredAt: Date): void {
    if (!(lasting in TIME_OF)) return;
    const time = TIME_OF[lasting as keyof typeof TIME_OF];
    const known = this.times[time];
    if (known === null || occurredAt < known) this.times[time] = occurredAt;
  }

  private count(counter: Counter, outcome: RecordedOutcome): void {
    const { organizationId, mode, domainId } = this.email;
    const deliveredTo = this.recipients.get(outcome.position)?.deliveredTo;
    const provider = isCountedByProvider(counter) ? receiverOf(outcome, deliveredTo) : undefined;
    this.deltas.push({ organizationId, mode, domainId, occurredAt: outcome.occurredAt, counter, by: 1, provider });
  }

  private owner(): Pick<EmailState, 'organizationId' | 'mode'> {
    return { organizationId: this.email.organizationId, mode: this.email.mode };
  }
}

function nextState(recipient: RecipientState, recorded: RecordedOutcome, seen: number): RecipientState {
  const before = recipient.status === 'scheduled' ? 'scheduled' : 'queued';
  return {
    ...recipient,
    seen,
    status: recipientStatus(seen, before),
    attempts: Math.max(recipient.attempts, recorded.attempt ?? 0),
    lastResponse: lastResponse(recorded) ?? recipient.lastResponse,
  };
}

/**
 * The receiver that an outcome counts for. A bounce or a complaint that arrived by mail counts for the mail exchanger that had
 * accepted the mail; the host in its report may be one to which the mail was forwarded.
 */
function receiverOf({ outcome, recipient }: RecordedOutcome, deliveredTo: string | undefined): string {
  return providerOf(domainOf(recipient), deliveredTo ?? ('smtp' in outcome ? outcome.smtp?.mxHost : undefined));
}

function lastResponse({ outcome }: RecordedOutcome): string | undefined {
  switch (outcome.kind) {
    case 'sent':
    case 'delivered':
      return outcome.smtp?.response;
    case 'deferred':
    case 'unknown':
      return outcome.smtp?.response ?? outcome.explanation ?? outcome.reason;
    case 'bounced':
      return outcome.smtp?.response ?? outcome.reason;
    // The reason of a failure is in its event; without a reply of its own, the last reply stays.
    case 'failed':
      return outcome.smtp?.response;
    case 'sending':
    case 'spam_report':
    case 'opened':
    case 'clicked':
    case 'unsubscribed':
      return undefined;
  }
}

/** Why an outcome puts its recipient on the suppression list at once; undefined when it does not. */
export function suppressionReason({ outcome }: RecordedOutcome): NewSuppression['reason'] | undefined {
  if (outcome.kind === 'bounced' && outcome.suppress) return 'hard_bounce';
  if (outcome.kind === 'spam_report') return 'spam_complaint';
  if (outcome.kind === 'unsubscribed') return 'unsubscribe';
  return undefined;
}

/** Whether a bounce reports that the recipient's domain does not exist, which suppresses the address only if that persists. */
export function isDomainMissing({ outcome }: RecordedOutcome): boolean {
  return outcome.kind === 'bounced' && outcome.isDomainMissing === true;
}

/** Whether a bounce is unrelated to the sender. The first of several bounces of a recipient counts. */
export function isExcused({ outcome }: RecordedOutcome): boolean {
  return outcome.kind === 'bounced' && outcome.countsAgainstSender === false;
}

function isHardBounce({ outcome }: RecordedOutcome): boolean {
  return outcome.kind === 'bounced' && outcome.bounceType === 'hard';
}

/** Refusals of the sender, of the message or by another address: they are not about the address, and another mail may be accepted. */
const NOT_OF_THE_RECIPIENT: ReadonlySet<string> = new Set<ReplyClassification['reason'] | typeof MEMBER_FAILED>([
  'policy',
  'reputation',
  'authentication',
  'sender-rejected',
  'relay-denied',
  'credentials',
  'too-large',
  'content-rejected',
  'rate-limited',
  MEMBER_FAILED,
]);

/** Whether a bounce counts against its recipient: a soft bounce for a reason that is not the sender's own. */
export function isSoftBounce({ outcome }: RecordedOutcome): boolean {
  if (outcome.kind !== 'bounced' || outcome.bounceType !== 'soft') return false;
  return !NOT_OF_THE_RECIPIENT.has(outcome.lastReason ?? outcome.reason);
}
