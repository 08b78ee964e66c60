import { addressKey, domainOf } from '../../../common/mail-address';
import {
  type DeliveryOutcome,
  MEMBER_FAILED,
  type OutcomeSource,
  type SmtpFacts,
} from '../../../delivery/ports/outcome';
import type { Report } from '../parsing/report';

/** What a report comes to, apart from the delivery that it is about. */
export interface ReportDecision {
  /** `hard_bounce`, `soft_bounce`, `delivered`, `spam_report`, or why there is no outcome. */
  readonly disposition: string;
  readonly outcome?: { readonly event: ReportedOutcome; readonly source: OutcomeSource };
  /** Where a report says that this address was expanded to others, of which one failed. */
  readonly expanded?: string;
}

export type ReportedOutcome = DeliveryOutcome & {
  readonly kind: 'bounced' | 'delivered' | 'spam_report' | 'unsubscribed';
};

/** Mail to an address of `List-Unsubscribe`: its author had the recipient's own copy, whatever the text. */
export const UNSUBSCRIPTION: ReportDecision = {
  disposition: 'unsubscribed',
  outcome: { event: { kind: 'unsubscribed', data: { method: 'mailto' } }, source: 'tracking' },
};

/** Notices on the way (delayed, relayed, expanded) change nothing: what comes of the mail is reported later, or never. */
export function decideOutcome(report: Report): ReportDecision {
  switch (report.kind) {
    case 'bounce': {
      const { bounceType, suppress, reason, ruleId, countsAgainstSender, explanation } = report;
      const smtp = { ...smtpFactsOf(report), ruleId, class: report.class };
      const what = { kind: 'bounced', bounceType, suppress, reason, countsAgainstSender } as const;
      const event = { ...what, ...(explanation !== undefined && { explanation }), smtp };
      const expanded = expandedBy(report);
      const outcome = { event, source: 'dsn' } as const;
      return { disposition: `${bounceType}_bounce`, outcome, ...(expanded !== undefined && { expanded }) };
    }
    case 'delivered':
      return {
        disposition: 'delivered',
        outcome: { event: { kind: 'delivered', smtp: smtpFactsOf(report) }, source: 'dsn' },
      };
    case 'complaint': {
      const { feedbackType, reportingSystem } = report;
      const data = { feedbackType, ...(reportingSystem !== undefined && { reportingSystem }) };
      return { disposition: 'spam_report', outcome: { event: { kind: 'spam_report', data }, source: 'feedback_loop' } };
    }
    case 'delayed':
    case 'relayed':
    case 'expanded':
      return { disposition: report.kind };
    case 'ignored':
      return { disposition: `ignored:${report.reason}` };
  }
}

/**
 * An alias or list, with a member elsewhere that failed: neither the same mailbox at another name of its host (`ann@mx1.example.com`)
 * nor another name of it in its domain (`a.smith@`), by which most systems report an address of their own.
 */
function expandedBy({
  originalRecipient,
  finalRecipient = '',
}: Extract<Report, { kind: 'bounce' }>): string | undefined {
  if (originalRecipient === undefined || !finalRecipient.includes('@')) return undefined;
  const [original, final] = [addressKey(originalRecipient), addressKey(finalRecipient)];
  const [one, other] = [domainOf(original), domainOf(final)];
  const isOneHost = one === other || one.endsWith(`.${other}`) || other.endsWith(`.${one}`);
  return isOneHost || localPartOf(original) === localPartOf(final) ? undefined : original;
}

function localPartOf(address: string): string {
  return address.slice(0, address.lastIndexOf('@'));
}

/** What the failure of a member says of the address itself: that it exists. */
export function ofMember(event: ReportedOutcome): ReportedOutcome {
  if (event.kind !== 'bounced') return event;
  const explanation = 'The address passes mail on to another one, which failed; it is not suppressed for that';
  const changed = { bounceType: 'soft', suppress: false, reason: MEMBER_FAILED, countsAgainstSender: false } as const;
  return { ...event, ...changed, explanation };
}

function smtpFactsOf(report: Extract<Report, { kind: 'bounce' | 'delivered' }>): SmtpFacts {
  const { response, enhancedCode, remoteHost: mxHost } = report;
  const code = report.kind === 'bounce' ? report.code : undefined;
  return {
    ...(code !== undefined && { code }),
    ...(enhancedCode !== undefined && { enhancedCode }),
    ...(response !== undefined && { response }),
    ...(mxHost !== undefined && { mxHost }),
  };
}
