/** The events that a webhook can listen to, in the order of a mail's life; a test compares them with the service's. */
export const LISTENED_TYPES: readonly string[] = [
  ...['queued', 'scheduled', 'sending', 'sent', 'delivered', 'deferred', 'unknown', 'bounced', 'hard_bounce'],
  ...['soft_bounce', 'opened', 'clicked', 'unsubscribed', 'spam_report', 'blocked', 'failed', 'cancelled'],
  'inbound.received',
];
