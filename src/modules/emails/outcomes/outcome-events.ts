import type { EventType } from '../../../common/event-types';
import type { DeliveryOutcome, RecordedOutcome, SmtpFacts } from '../../../delivery/ports/outcome';
import { hasSeen, type NewEvent, type RecipientState } from './email-state';
import { explanationOf } from './ending-words';

export type EventBody = Pick<NewEvent, 'source' | 'data'> & { eventType: EventType };

/**
 * The events that an outcome adds to a recipient's history. A repeated terminal outcome adds none, except a second
 * delivery: that is a duplicate, and it is shown as one.
 */
export function eventsOf(recorded: RecordedOutcome, before: RecipientState): EventBody[] {
  const { seen } = before;
  const { outcome, source } = recorded;
  const data = eventData(recorded, before);
  const types = eventTypes(outcome, recorded.source);
  if (outcome.kind === 'delivered' && !hasSeen(seen, 'sent')) types.unshift('sent');
  if (outcome.kind === 'delivered' && hasSeen(seen, 'delivered')) data.duplicate = true;
  if (isRepeated(outcome, seen)) return [];
  return types.map((eventType) => ({ eventType, source, data }));
}

function isRepeated(outcome: DeliveryOutcome, seen: number): boolean {
  switch (outcome.kind) {
    case 'sending':
    case 'sent':
    case 'bounced':
    case 'failed':
    case 'spam_report':
    case 'unsubscribed':
      return hasSeen(seen, outcome.kind);
    case 'delivered':
    case 'deferred':
    case 'unknown':
    case 'opened':
    case 'clicked':
      return false;
  }
}

function eventTypes(outcome: DeliveryOutcome, source: RecordedOutcome['source']): EventType[] {
  switch (outcome.kind) {
    case 'bounced':
      // A notification after the fact has a name of its own.
      return source === 'dsn' ? [outcome.bounceType === 'hard' ? 'hard_bounce' : 'soft_bounce'] : ['bounced'];
    case 'failed':
      return [outcome.reason === 'blocked' || outcome.reason === 'cancelled' ? outcome.reason : 'failed'];
    case 'sending':
    case 'sent':
    case 'delivered':
    case 'deferred':
    case 'unknown':
    case 'spam_report':
    case 'opened':
    case 'clicked':
    case 'unsubscribed':
      return [outcome.kind];
  }
}

/** What an event says of its outcome. @param before what the recipient had come to */
export function eventData(
  { recipient, outcome, attempt }: RecordedOutcome,
  before: Pick<RecipientState, 'attempts' | 'lastResponse'>,
): Record<string, unknown> {
  const base: Record<string, unknown> = attempt === undefined ? { recipient } : { recipient, attempt };
  switch (outcome.kind) {
    case 'sending':
      return base;
    case 'sent':
    case 'delivered':
      return Object.assign(base, outcome.smtp);
    case 'deferred':
    case 'unknown': {
      const why =
        outcome.kind === 'unknown' ? { reason: 'outcome_unknown', detail: outcome.reason } : { reason: outcome.reason };
      const { nextAttemptAt, explanation, smtp } = outcome;
      const inWords = explanation !== undefined && { explanation };
      return { ...base, ...why, nextAttemptAt: nextAttemptAt.toISOString(), ...inWords, ...smtpData(smtp) };
    }
    case 'bounced': {
      const { bounceType, reason, countsAgainstSender } = outcome;
      const excused = countsAgainstSender === false && { countsAgainstSender };
      const explanation = explanationOf(outcome, before);
      return { ...base, bounceType, reason, explanation, ...excused, ...smtpData(outcome.smtp) };
    }
    case 'failed': {
      const { reason, detail, smtp } = outcome;
      const explanation = explanationOf(outcome, before);
      return { ...base, reason, ...(detail && { detail }), explanation, ...smtpData(smtp) };
    }
    case 'spam_report':
    case 'unsubscribed':
      return { ...base, ...outcome.data };
    case 'opened':
    case 'clicked':
      return { ...base, ...outcome.data, ...(outcome.automated && { automated: true }) };
  }
}

function smtpData(smtp: SmtpFacts | undefined): Record<string, unknown> {
  return smtp ? { ...smtp } : {};
}
