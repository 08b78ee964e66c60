import type { DeliveryOutcome, RecordedOutcome } from '../../src/delivery/ports/outcome';
import type { EmailState, RecipientState } from '../../src/modules/emails/outcomes/email-state';

/** Of the one email. */
export const KEY = { organizationId: 'o', mode: 'live' as const, emailId: 'e' };
export const AT = new Date('2026-11-20T10:30:00Z');
export const LATER = new Date('2026-11-20T12:00:00Z');

export function recipient(position: number, status: RecipientState['status'] = 'queued'): RecipientState {
  return { position, address: `r${position}@x.example`, seen: 0, status, attempts: 0, lastResponse: null };
}

/** Its recipients are `r0@x.example`, `r1@x.example`, … */
export function email(recipients: number, status: EmailState['status'] = 'queued'): EmailState {
  const all = Array.from({ length: recipients }, (_, position) => recipient(position, status));
  const isSenderErased = false;
  return { ...KEY, domainId: 'd', status, eventSequence: 1, scheduledFor: null, isSenderErased, recipients: all };
}

export function recorded(position: number, outcome: DeliveryOutcome, occurredAt = AT): RecordedOutcome {
  const address = `r${position}@x.example`;
  return { ...KEY, position, domainId: 'd', recipient: address, outcome, source: 'smtp', occurredAt, attempt: 1 };
}

export const hardBounce = {
  kind: 'bounced',
  bounceType: 'hard',
  suppress: true,
  reason: 'bad-mailbox',
} as const satisfies DeliveryOutcome;
export const deferred = {
  kind: 'deferred',
  nextAttemptAt: LATER,
  reason: 'greylisted',
} as const satisfies DeliveryOutcome;

/** What counts nothing. */
export function automated(): DeliveryOutcome[] {
  return [
    { kind: 'opened', automated: true },
    { kind: 'clicked', automated: true },
  ];
}
