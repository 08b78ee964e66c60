import { valueWithoutAddresses } from '../../../common/erasure/without-addresses';
import type { EmailState } from './email-state';
import type { DeliveryOutcome, RecordedOutcome, SmtpFacts } from '../../../delivery/ports/outcome';

/**
 * Placeholder of an erased recipient's address: unique within its email, and never deliverable (RFC 2606 section 2).
 */
const ERASED = /^erased-\d+@erased\.invalid$/;

/** Placeholder of an erased reply-to address. Of an erased sender only the local part is replaced: the domain belongs to the customer. */
export const ERASED_SENDER = 'erased@erased.invalid';

/** Whether an address is the placeholder of an erased one. */
export function isErased(address: string): boolean {
  return ERASED.test(address);
}

/** Whether an email may be one of an erased sender: those have no name. A customer may write as `erased` as well. */
export function isErasedSender({ fromEmail, fromName }: { fromEmail: string; fromName: string | null }): boolean {
  return fromName === null && fromEmail.startsWith('erased@');
}

interface ChangedRecipient {
  readonly address: string;
  readonly status: string;
  readonly attempts: number;
}

const ENDED: readonly string[] = ['bounced', 'failed'];

/**
 * The recipients that a cancellation or a new time is about: neither erased, nor ended before a worker began, as an operator can
 * end one.
 */
export function changeable<R extends ChangedRecipient>(recipients: readonly R[]): R[] {
  return recipients.filter(
    ({ address, status, attempts }) => !isErased(address) && !(attempts === 0 && ENDED.includes(status)),
  );
}

/** The placeholder of an erased recipient's address. */
export function erasedAddress(position: number): string {
  return `erased-${position}@erased.invalid`;
}

/** Whether a recipient or the sender has been erased from an email. */
export function hasErased({ recipients, isSenderErased }: Pick<EmailState, 'recipients' | 'isSenderErased'>): boolean {
  return isSenderErased || recipients.some(({ address }) => isErased(address));
}

/**
 * A late outcome of another recipient of an email with an erased one: links and replies may name the erased person, who can no
 * longer be recognised in them.
 */
export function withoutNames(recorded: RecordedOutcome): RecordedOutcome {
  return { ...recorded, outcome: valueWithoutAddresses(recorded.outcome) };
}

/** A late outcome of an erased recipient, such as a bounce message, reduced to the fact that it happened. */
export function withoutPerson(recorded: RecordedOutcome, placeholder: string): RecordedOutcome {
  return { ...recorded, recipient: placeholder, outcome: valueWithoutAddresses(impersonal(recorded.outcome)) };
}

/** Fields that are dropped because replies and operators' notes may name people. */
const WITHOUT_TEXTS = { explanation: undefined, obstacle: undefined } as const;

function impersonal(outcome: DeliveryOutcome): DeliveryOutcome {
  switch (outcome.kind) {
    case 'sending':
      return outcome;
    case 'failed':
      return { ...outcome, ...WITHOUT_TEXTS, smtp: codesOf(outcome.smtp) };
    case 'sent':
    case 'delivered':
      return { ...outcome, smtp: codesOf(outcome.smtp) };
    case 'deferred':
    case 'unknown':
      return { ...outcome, explanation: undefined, smtp: codesOf(outcome.smtp) };
    case 'bounced':
      return { ...outcome, suppress: false, ...WITHOUT_TEXTS, smtp: codesOf(outcome.smtp) };
    case 'spam_report':
    case 'unsubscribed':
    case 'opened':
    case 'clicked':
      return { ...outcome, data: undefined };
  }
}

function codesOf({ code, enhancedCode, ruleId, class: kind }: SmtpFacts = {}): SmtpFacts {
  return { code, enhancedCode, ruleId, class: kind };
}
