import type { ReplyClassification } from '../../../delivery/policy/classify-reply';
import type { RecordedOutcome } from '../../../delivery/ports/outcome';
import type { NewSuppression } from '../../suppressions/suppressions.service';

/** Why an outcome puts its recipient on the suppression list at once; undefined when it does not. */
export function suppressionReason({ outcome }: RecordedOutcome): NewSuppression['reason'] | undefined {
  if (outcome.kind === 'bounced' && outcome.suppress) return 'hard_bounce';
  if (outcome.kind === 'spam_report') return 'spam_complaint';
  if (outcome.kind === 'unsubscribed') return 'unsubscribe';
  return undefined;
}

/** Whether a bounce says that the recipient's domain does not exist, which lists the address only if it stays so. */
export function isDomainMissing({ outcome }: RecordedOutcome): boolean {
  return outcome.kind === 'bounced' && outcome.isDomainMissing === true;
}

/** Whether a bounce says nothing of the sender. Of several bounces of a recipient, the first is the one that counts. */
export function isExcused({ outcome }: RecordedOutcome): boolean {
  return outcome.kind === 'bounced' && outcome.countsAgainstSender === false;
}

/** Refusals of the sender or of the message: they say nothing of the address, and another mail may well get through. */
const NOT_OF_THE_RECIPIENT: ReadonlySet<string> = new Set<ReplyClassification['reason']>([
  'policy',
  'reputation',
  'authentication',
  'sender-rejected',
  'relay-denied',
  'credentials',
  'too-large',
  'content-rejected',
  'rate-limited',
]);

/** Whether a bounce counts against its recipient: a soft one for a reason that is not the sender's own. */
export function isSoftBounce({ outcome }: RecordedOutcome): boolean {
  if (outcome.kind !== 'bounced' || outcome.bounceType !== 'soft') return false;
  return !NOT_OF_THE_RECIPIENT.has(outcome.lastReason ?? outcome.reason);
}
