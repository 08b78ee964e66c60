import fc from 'fast-check';
import type { ClaimedDelivery, DeliveryKey } from '../../src/delivery/ports/delivery';
import type { DeliveryOutcome, RecordedOutcome } from '../../src/delivery/ports/outcome';
import type { Tenant } from './tenants';

export const OCCURRED_AT = new Date('2026-02-01T10:30:00.000Z');

export const HARD_BOUNCE: DeliveryOutcome = {
  kind: 'bounced',
  bounceType: 'hard',
  suppress: true,
  reason: 'bad-mailbox',
  smtp: { code: 550, enhancedCode: '5.1.1', response: '550 5.1.1 no such user' },
};
export const SOFT_BOUNCE: DeliveryOutcome = { kind: 'bounced', bounceType: 'soft', suppress: false, reason: 'full' };
/** Refused to the end for the sake of this service, not of the sender. */
export const EXCUSED_BOUNCE: DeliveryOutcome = {
  ...{ kind: 'bounced', bounceType: 'soft', suppress: false, reason: 'retries exhausted: reputation' },
  ...{ lastReason: 'reputation', countsAgainstSender: false },
};
/** The DNS knows no such domain. */
export const MISSING_DOMAIN: DeliveryOutcome = {
  ...{ kind: 'bounced', bounceType: 'hard', suppress: false, reason: 'bad-domain', isDomainMissing: true },
  smtp: { enhancedCode: '5.1.2', phase: 'dns', ruleId: 'no-such-domain', class: 'mailbox' },
};
export const DEFERRED: DeliveryOutcome = {
  kind: 'deferred',
  nextAttemptAt: new Date('2026-02-01T12:00:00.000Z'),
  reason: 'greylisted',
};

/** Every kind of outcome. */
export const anyOutcome: fc.Arbitrary<DeliveryOutcome> = fc.constantFrom<DeliveryOutcome>(
  { kind: 'sending' },
  { kind: 'sent', smtp: { code: 250, response: '250 2.0.0 taken' } },
  { kind: 'delivered', smtp: { code: 250, response: '250 2.0.0 OK' } },
  DEFERRED,
  { kind: 'unknown', nextAttemptAt: new Date('2026-02-01T13:00:00.000Z'), reason: 'timeout' },
  HARD_BOUNCE,
  SOFT_BOUNCE,
  { kind: 'failed', reason: 'expired' },
  { kind: 'spam_report' },
  { kind: 'opened' },
  { kind: 'clicked', data: { url: 'https://x.example/?a="b"' } },
  { kind: 'opened', automated: true, data: { automatedReason: 'privacy-proxy' } },
  { kind: 'unsubscribed' },
);

/** An outcome of the recipient at `position` of an email, from the SMTP conversation. */
export function recordedOutcome(
  { organizationId, domainId }: Tenant,
  emailId: string,
  outcome: DeliveryOutcome,
  fields: Partial<RecordedOutcome> = {},
): RecordedOutcome {
  const position = fields.position ?? 0;
  const key: DeliveryKey = { organizationId, mode: 'live', emailId, position };
  const recipient = `r${position}@x.example`;
  return { ...key, domainId, recipient, outcome, source: 'smtp', occurredAt: OCCURRED_AT, attempt: 1, ...fields };
}

export function outcomeOfClaim(claim: ClaimedDelivery, outcome: DeliveryOutcome): RecordedOutcome {
  const { organizationId, mode, emailId, position, domainId, recipient, attempt } = claim;
  const key = { organizationId, mode, emailId, position };
  return { ...key, domainId, recipient, outcome, source: 'smtp', occurredAt: new Date(), attempt };
}
