import type { DeliveryOutcome, SmtpFacts } from '../ports/outcome';
import { classifyReply, type ReplyClassification } from './classify-reply';
import { planRetry, type RetryFacts } from './retry-schedule';

/** How one attempt to hand a message over ended, for one recipient. */
export type TransmissionResult =
  | {
      readonly kind: 'accepted';
      /** True when the recipient's own server, or the built-in mailbox, took it; false when a relay did. */
      readonly final: boolean;
      readonly smtp: SmtpFacts;
    }
  | {
      readonly kind: 'rejected';
      /** The refusal: `phase`, `code`, `enhancedCode` and `response` are what it is judged by. */
      readonly smtp: SmtpFacts;
      /** Recipients of the transaction when the reply was to the message as a whole; 1 when absent. */
      readonly recipientCount?: number;
    }
  | {
      readonly kind: 'failed';
      /** Machine-readable, as the transmission names it: `timeout`, `refused`, `tls`, … */
      readonly cause: string;
      /** True when the message had been sent completely, so that it may have arrived. */
      readonly afterFinalDot: boolean;
      readonly smtp: SmtpFacts;
    }
  | {
      readonly kind: 'unroutable';
      readonly permanent: boolean;
      readonly enhancedCode: string;
      readonly reason: string;
    };

/**
 * What becomes of a recipient after one attempt. Every failure either names the next attempt or ends the delivery:
 * as `failed` with `expired` when the message's own limit ended it, else as a bounce.
 */
export function resolveOutcome(result: TransmissionResult, facts: RetryFacts): DeliveryOutcome {
  switch (result.kind) {
    case 'accepted':
      return { kind: result.final ? 'delivered' : 'sent', smtp: result.smtp };
    case 'rejected':
      return resolveRejection(result.smtp, classifyRejection(result), facts);
    case 'failed':
      return retryOrEnd(result.afterFinalDot ? 'unknown' : 'deferred', result.cause, result.smtp, facts);
    case 'unroutable':
      return resolveUnroutable(result, facts);
  }
}

/** The rule that a rejection falls under; also for the next-host decision and the destination limiter. */
export function classifyRejection(result: Extract<TransmissionResult, { kind: 'rejected' }>): ReplyClassification {
  return classifyReply({
    phase: result.smtp.phase,
    code: result.smtp.code,
    enhancedCode: result.smtp.enhancedCode,
    text: result.smtp.response,
    recipientCount: result.recipientCount,
  });
}

function resolveRejection(smtp: SmtpFacts, classification: ReplyClassification, facts: RetryFacts): DeliveryOutcome {
  const reason = classification.class;
  switch (classification.action) {
    case 'retry':
    case 'retry-and-throttle-destination':
      if (facts.attempt > (classification.maximumRetries ?? Infinity)) return bounced('soft', reason, smtp);
      return retryOrEnd('deferred', reason, smtp, facts);
    case 'bounce-hard-suppress':
      return { ...bounced('hard', reason, smtp), suppress: true };
    case 'bounce-hard':
      return bounced('hard', reason, smtp);
    case 'bounce-soft':
      return bounced('soft', reason, smtp);
  }
}

/**
 * A domain that takes no mail bounces hard, but is not suppressed: a lapsed registration or a slip in a zone comes
 * back, and asking the DNS again costs next to nothing.
 */
function resolveUnroutable(
  result: Extract<TransmissionResult, { kind: 'unroutable' }>,
  facts: RetryFacts,
): DeliveryOutcome {
  const smtp: SmtpFacts = { enhancedCode: result.enhancedCode, response: result.reason, phase: 'routing' };
  if (result.permanent) return bounced('hard', 'bad-domain', smtp);
  return retryOrEnd('deferred', 'routing', smtp, facts);
}

function retryOrEnd(kind: 'deferred' | 'unknown', reason: string, smtp: SmtpFacts, facts: RetryFacts): DeliveryOutcome {
  const plan = planRetry(facts);
  switch (plan.kind) {
    case 'at':
      return { kind, nextAttemptAt: plan.at, reason, smtp };
    case 'expired':
      return { kind: 'failed', reason: 'expired', detail: reason };
    case 'exhausted':
      return bounced('soft', `retries exhausted: ${reason}`, smtp);
  }
}

function bounced(
  bounceType: 'hard' | 'soft',
  reason: string,
  smtp: SmtpFacts,
): Extract<DeliveryOutcome, { kind: 'bounced' }> {
  return { kind: 'bounced', bounceType, suppress: false, reason, smtp };
}
