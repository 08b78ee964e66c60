import type { EmailKey } from '../../../delivery/ports/delivery';
import type { EmailChanges, EmailState } from './email-state';

/** A complaint about an email of several recipients that nothing ties to one of them. */
export interface EmailComplaint extends EmailKey {
  readonly occurredAt: Date;
  /** Of the event. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** An event and a count of the email's own: no recipient changes state, and no address is suppressed. */
export function applyComplaint(email: EmailState, { occurredAt, data }: EmailComplaint): EmailChanges {
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
