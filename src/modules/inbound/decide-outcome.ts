import type { DeliveryOutcome, OutcomeSource, SmtpFacts } from '../../delivery/ports/outcome';
import type { Report } from './parsing/report';

/** What a report comes to, apart from the delivery that it is about. */
export interface ReportDecision {
  /** `hard_bounce`, `soft_bounce`, `delivered`, `spam_report`, or why there is no outcome. */
  readonly disposition: string;
  readonly outcome?: { readonly event: ReportedOutcome; readonly source: OutcomeSource };
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
      return { disposition: `${bounceType}_bounce`, outcome: { event, source: 'dsn' } };
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
