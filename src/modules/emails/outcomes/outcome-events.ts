import type { EventType } from '../../../common/event-types';
import {
  type DeliveryOutcome,
  type FailureReason,
  ITS_TURN_WORDS,
  OUTCOME_UNKNOWN,
  type RecordedOutcome,
  type SmtpFacts,
} from '../../../delivery/ports/outcome';
import { hasSeen, isBounceKnown, type NewEvent, type RecipientState } from './email-state';

export type EventBody = Pick<NewEvent, 'source' | 'data'> & { eventType: EventType };

/**
 * The events that an outcome adds to a recipient's history. A repeated terminal outcome adds none, with two exceptions that
 * are marked as duplicates: a second delivery, and a permanent bounce after a temporary one.
 */
export function eventsOf(recorded: RecordedOutcome, before: RecipientState): EventBody[] {
  const { seen } = before;
  const { outcome, source } = recorded;
  const data = eventData(recorded, before);
  const types = eventTypes(outcome, recorded.source);
  if (outcome.kind === 'delivered' && !hasSeen(seen, 'sent')) types.unshift('sent');
  const isDuplicate = (outcome.kind === 'delivered' || outcome.kind === 'bounced') && hasSeen(seen, outcome.kind);
  if (isDuplicate) data.duplicate = true;
  if (isRepeated(outcome, seen)) return [];
  return types.map((eventType) => ({ eventType, source, data }));
}

function isRepeated(outcome: DeliveryOutcome, seen: number): boolean {
  switch (outcome.kind) {
    case 'sending':
    case 'sent':
    case 'failed':
    case 'spam_report':
    case 'unsubscribed':
      return hasSeen(seen, outcome.kind);
    case 'bounced':
      return isBounceKnown(seen, outcome.bounceType);
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
      // A bounce message after the delivery has an event type of its own.
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

/** The data of an outcome's event. @param before the recipient's state before it */
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
        outcome.kind === 'unknown' ? { reason: OUTCOME_UNKNOWN, detail: outcome.reason } : { reason: outcome.reason };
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

type Ending = Extract<DeliveryOutcome, { kind: 'failed' | 'bounced' }>;

/** The recipient's state before the end of its delivery. */
interface History {
  readonly attempts: number;
  /** The last reply of its server, or why the last attempt failed or was deferred; null before any. */
  readonly lastResponse: string | null;
}

/** Explains to the sender an end without a reply; contains nothing about the recipient. */
const WORDS: Readonly<Record<FailureReason, string>> = {
  blocked: 'The address is on the suppression list: no mail is sent to it until it is taken off',
  expired: 'It was not delivered within its time',
  cancelled: 'It was cancelled before its first attempt',
  domain_removed: "The sender's domain, or its key, had been removed before the mail could be signed",
  poison: 'Workers died while they held this mail, so that it is not tried again; the operator has its traces',
  content_unavailable: 'The content of the mail was not there any more when its turn came',
  operator: 'The operator of this service has ended its delivery',
};

/** Explanations for details of a failure that change its meaning. */
const WORDS_OF_DETAIL: Readonly<Record<string, string>> = {
  erased: 'It was cancelled because its recipient was erased',
};

/**
 * Why a delivery has ended, as a sentence for the sender; every end has one.
 */
export function explanationOf(ending: Ending, before: History): string {
  const words = ending.explanation ?? (ending.kind === 'failed' ? wordsOf(ending) : refusal(ending.smtp?.response));
  return hasRunOut(ending) ? [words, ...lastWords(ending, before)].join('; ') : words;
}

function wordsOf({ reason, detail }: Extract<Ending, { kind: 'failed' }>): string {
  const words = (detail === undefined ? undefined : WORDS_OF_DETAIL[detail]) ?? WORDS[reason];
  return reason === 'blocked' && detail !== undefined ? `${words} (${detail.replaceAll('_', ' ')})` : words;
}

/** Whether a delivery has expired without a reply to a last attempt. */
function hasRunOut(ending: Ending): boolean {
  return ending.smtp === undefined && (ending.reason === 'expired' || ending.reason === 'retries exhausted');
}

function lastWords({ obstacle, explanation }: Ending, { attempts, lastResponse }: History): string[] {
  if (lastResponse !== null) return [...listed(obstacle), `the last result was: ${lastResponse}`];
  // Without a result and an obstacle it has been due all the time; nothing is stored for an erased recipient.
  const isUntouched = attempts === 0 && explanation !== undefined;
  return listed(obstacle ?? (isUntouched ? ITS_TURN_WORDS : undefined));
}

function listed(words: string | undefined): string[] {
  return words === undefined ? [] : [words];
}

function refusal(response: string | undefined): string {
  const words = 'The receiving server refused it';
  return response === undefined ? words : `${words}: ${response}`;
}
