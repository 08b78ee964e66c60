import type { ConversationTrace, TlsPolicy } from '../ports/attempt-trace';
import { type DeliveryOutcome, type SmtpFacts, SOURCE_SUSPENDED } from '../ports/outcome';
import { BUILT_IN_CLASSIFIER, type ReplyClassification, type ReplyClassifier } from './replies/classify-reply';
import type { ReleaseSignal } from './destinations/destination-bounds';
import { countsAgainstSender, isBeforeRecipient, type ReplyAction, stageOf } from './replies/reply-rule';
import { planRetry, type RetryFacts } from './retry-schedule';

/** How one attempt to hand a message over ended, for one recipient. */
export type TransmissionResult =
  | {
      readonly kind: 'accepted';
      /** True when the recipient's own server, or the built-in mailbox, took it; false when a relay did. */
      readonly final: boolean;
      readonly smtp: SmtpFacts;
      readonly trace?: ConversationTrace | undefined;
    }
  | {
      readonly kind: 'rejected';
      readonly smtp: SmtpFacts;
      readonly classification: ReplyClassification;
      readonly trace?: ConversationTrace | undefined;
    }
  | {
      readonly kind: 'failed';
      /** Machine-readable, as the transmission names it: `timeout`, `refused`, `tls`, … */
      readonly cause: string;
      /** True when the message had been sent completely, so that it may have arrived. */
      readonly afterFinalDot: boolean;
      readonly smtp: SmtpFacts;
      readonly trace?: ConversationTrace | undefined;
    }
  | {
      readonly kind: 'unroutable';
      readonly permanent: boolean;
      readonly enhancedCode: string;
      readonly reason: string;
      /** Which of the ways to have no route. */
      readonly ruleId?: string;
      /** True when the domain does not exist in DNS. */
      readonly isDomainMissing?: boolean;
      /** There are hosts, but none that this lets the mail go to. */
      readonly policy?: TlsPolicy;
    };

type Rejected = Extract<TransmissionResult, { kind: 'rejected' }>;
type Failed = Extract<TransmissionResult, { kind: 'failed' }>;
type Unroutable = Extract<TransmissionResult, { kind: 'unroutable' }>;

/**
 * What becomes of a recipient after one attempt. Every failure either names the next attempt or ends the delivery:
 * as `failed` with `expired` when the message's own limit ended it, else as a bounce.
 */
export function resolveOutcome(result: TransmissionResult, facts: RetryFacts): DeliveryOutcome {
  switch (result.kind) {
    case 'accepted':
      return { kind: result.final ? 'delivered' : 'sent', smtp: result.smtp };
    case 'rejected':
      return resolveRejection(result, facts);
    case 'failed':
      return resolveFailure(result, facts);
    case 'unroutable':
      return resolveUnroutable(result, facts);
  }
}

/** Aborted, or out of descriptors: another host would have the same result. */
const OWN_ENDS: ReadonlySet<string> = new Set(['aborted', 'local']);

/** Whether another host of the destination may take what this one did not (RFC 5321 section 5.1). */
export function isWorthAnotherHost(result: TransmissionResult): boolean {
  if (result.kind === 'rejected') return result.classification.tryNextHost;
  if (result.kind !== 'failed' || result.afterFinalDot || OWN_ENDS.has(result.cause)) return false;
  return isBeforeRecipient(result.smtp.phase);
}

/** A refusal with the rule that it falls under: `phase`, `code`, `enhancedCode` and `lines` are what counts. */
export function rejection(said: SmtpFacts, classifier: ReplyClassifier): Rejected {
  const { phase, code, enhancedCode, lines, response } = said;
  const classification = classifier.classify({ phase, code, enhancedCode, text: lines ?? response });
  return {
    kind: 'rejected',
    smtp: { ...said, ruleId: classification.ruleId, class: classification.class },
    classification,
  };
}

function resolveRejection({ smtp, classification }: Rejected, facts: RetryFacts): DeliveryOutcome {
  const { reason, bounceType, explanation } = classification;
  switch (classification.action) {
    case 'retry':
    case 'slow':
    case 'suspend':
      if (facts.refusals >= (classification.maximumRetries ?? Infinity)) {
        // What a server says before it has heard of the sender is not the sender's doing.
        const excused = !isAtMessage({ smtp }) && ({ countsAgainstSender: false } as const);
        return { ...bounced('soft', reason, smtp), ...excused, explanation: refusedOften(facts, smtp) };
      }
      return countRefusal(retryOrEnd('deferred', reason, smtp, facts), classification);
    case 'bounce':
      return { ...bounced(bounceType, reason, smtp), explanation: explanation ?? refusal(smtp) };
    case 'bounce_and_suppress':
      return { ...bounced('hard', reason, smtp), suppress: true, explanation: explanation ?? refusal(smtp) };
  }
}

function countRefusal(outcome: DeliveryOutcome, { maximumRetries }: ReplyClassification): DeliveryOutcome {
  return outcome.kind === 'deferred' && maximumRetries !== undefined ? { ...outcome, isRefusal: true } : outcome;
}

/**
 * What this side can tell to be permanent (size, SMTPUTF8) counts as the reply that the server would have sent (RFC 6531
 * section 3.2, RFC 6152 section 3). It depends on what the host offers, so the code is permanent only when every host was asked:
 * one that was silent may take the message at a later attempt.
 */
function resolveFailure(failed: Failed, facts: RetryFacts): DeliveryOutcome {
  const { cause, afterFinalDot, smtp } = failed;
  if ((cause === 'too-large' || cause === 'unsupported') && smtp.enhancedCode?.startsWith('5')) {
    const { classification } = rejection({ ...smtp, code: 554 }, BUILT_IN_CLASSIFIER);
    const { ruleId, class: kind } = classification;
    // The server has not sent that code.
    const counted = { kind: 'rejected', smtp: { ...smtp, ruleId, class: kind } } as const;
    return resolveRejection({ ...counted, classification: { ...classification, action: 'bounce' } }, facts);
  }
  // To a sender it is a silence like any other.
  const reason = cause === 'cut-short' ? 'timeout' : cause;
  return retryOrEnd(afterFinalDot ? 'unknown' : 'deferred', reason, smtp, facts, remarkOn(failed));
}

/** An error of this service has no words of its own. */
function remarkOn({ cause }: Failed): string | undefined {
  if (cause === 'internal') return 'an error of this service ended the attempt: its operator finds it in the log';
  return undefined;
}

/**
 * A domain that takes no mail bounces hard, but is not suppressed at once: a lapsed registration or a mistake in a zone is
 * corrected, and another look-up costs little.
 */
function resolveUnroutable(result: Unroutable, facts: RetryFacts): DeliveryOutcome {
  const { enhancedCode, reason: response, ruleId, isDomainMissing, policy } = result;
  const reason = result.permanent ? 'bad-domain' : policy ? 'policy' : 'routing';
  const smtp: SmtpFacts = {
    enhancedCode,
    response,
    phase: 'dns',
    ...(ruleId && { ruleId }),
    ...(policy && { policy }),
    class: result.permanent ? 'mailbox' : 'infrastructure',
  };
  if (!result.permanent) return retryOrEnd('deferred', reason, smtp, facts);
  return { ...bounced('hard', reason, smtp), explanation: response, ...(isDomainMissing && { isDomainMissing }) };
}

const TRIED_AGAIN =
  'The server had the whole message and did not say that it takes it: it is tried again with the same Message-ID, and may arrive twice';
const MAY_HAVE_ARRIVED = 'the server had the whole message, so it may have arrived after all';

/** @param remark on the attempt */
function retryOrEnd(
  kind: 'deferred' | 'unknown',
  reason: string,
  smtp: SmtpFacts,
  facts: RetryFacts,
  remark?: string,
): DeliveryOutcome {
  const plan = planRetry(facts);
  const isOpen = kind === 'unknown';
  if (plan.kind === 'at') {
    const words = joined(isOpen && TRIED_AGAIN, remark);
    return { kind, nextAttemptAt: plan.at, reason, smtp, ...(words !== '' && { explanation: words }) };
  }
  const explanation = joined(expiry(facts.attempt, smtp), remark, isOpen && MAY_HAVE_ARRIVED);
  if (plan.kind === 'expired') return { kind: 'failed', reason: 'expired', detail: reason, explanation, smtp };
  const exhausted = { reason: `retries exhausted: ${reason}`, lastReason: reason, explanation };
  return { ...bounced('soft', reason, smtp), ...exhausted };
}

function joined(...words: readonly (string | false | undefined)[]): string {
  const sentence = words.filter((one) => one !== false && one !== undefined).join('; ');
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

/**
 * Why a delivery expired, in plain words: the number of attempts, and how the last one ended.
 * @param last absent when that is not stored any more
 */
export function expiry(attempts: number, last?: SmtpFacts): string {
  const tried = attempts === 0 ? 'no attempt could begin' : times(attempts);
  const ended = last === undefined ? '' : `; ${describeReply(last)}`;
  return `It was not delivered within its time: ${tried}${ended}`;
}

function times(attempts: number): string {
  return attempts === 1 ? 'it was tried once' : `it was tried ${attempts} times`;
}

/** Without a code the words are this side's: the server was silent, or the connection ended. */
function describeReply({ code, response }: SmtpFacts): string {
  if (response === undefined) return 'no server answered';
  return `the last ${code === undefined ? 'result' : 'answer'} was: ${response}`;
}

function refusedOften({ refusals }: RetryFacts, smtp: SmtpFacts): string {
  const what = isAtMessage({ smtp }) ? 'the mail, before it heard of the recipient,' : 'the connection';
  return `The receiving server refused ${what} ${refusals + 1} times; ${describeReply(smtp)}`;
}

/** An operator's rule need not explain itself. */
function refusal({ response }: SmtpFacts): string {
  return response === undefined ? 'The receiving server refused it' : `The receiving server refused it: ${response}`;
}

function bounced(
  bounceType: 'hard' | 'soft',
  reason: string,
  smtp: SmtpFacts,
): Extract<DeliveryOutcome, { kind: 'bounced' }> {
  // What encryption the receiver offers is not the sender's doing.
  const isExcused = smtp.policy !== undefined || !countsAgainstSender(reason);
  const excused = isExcused && ({ countsAgainstSender: false } as const);
  return { kind: 'bounced', bounceType, suppress: false, reason, ...excused, smtp };
}

/** Attempts that this side ended: they show nothing about the other. */
const OWN_CAUSES: ReadonlySet<string> = new Set([
  'aborted',
  'cut-short',
  'insecure',
  'internal',
  'local',
  // The sender's demand, which the next sender does not have.
  'policy',
  SOURCE_SUSPENDED,
  'too-large',
  'unsupported',
]);

const SIGNAL_OF: Readonly<Record<ReplyAction, ReleaseSignal>> = {
  retry: 'neutral',
  slow: 'throttled',
  suspend: 'suspended',
  bounce: 'neutral',
  bounce_and_suppress: 'neutral',
};

/**
 * What the result of one attempt means for the destination limiter.
 * @param isSharedHop all mail goes through one relay, which passes on what other servers reply to single mails
 */
export function releaseSignalOf(result: TransmissionResult, isSharedHop = false): ReleaseSignal {
  switch (result.kind) {
    case 'accepted':
      return 'success';
    case 'rejected': {
      const signal = SIGNAL_OF[result.classification.action];
      return signal !== 'neutral' && isSharedHop && isAtMessage(result) ? 'interrupted' : signal;
    }
    case 'failed':
      if (OWN_CAUSES.has(result.cause)) return 'neutral';
      return isAtMessage(result) ? 'interrupted' : 'unreachable';
    case 'unroutable':
      return 'neutral';
  }
}

/** The other side had learned of a message by then, and may mean that one only. */
function isAtMessage({ smtp }: Pick<Rejected | Failed, 'smtp'>): boolean {
  return stageOf(smtp.phase) !== 'connect';
}
