/** What can happen to an email (contract, section 4). */
export const EVENT_TYPES = [
  'queued',
  'scheduled',
  'sending',
  'sent',
  'delivered',
  'deferred',
  'unknown',
  'bounced',
  'hard_bounce',
  'soft_bounce',
  'opened',
  'clicked',
  'unsubscribed',
  'spam_report',
  'blocked',
  'failed',
  'cancelled',
] as const;

export type EventType = (typeof EVENT_TYPES)[number];

/** Mail to an inbound route (contract, section 21): the one event that is about no email of this service. */
export const INBOUND_RECEIVED = 'inbound.received';
