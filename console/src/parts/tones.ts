/** The meaning of a state, which decides its colour. */
export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'neutral';

const TONES: Readonly<Record<string, Tone>> = {
  ...{
    delivered: 'good',
    verified: 'good',
    completed: 'good',
    open: 'good',
    active: 'good',
    warmed: 'good',
    healthy: 'good',
  },
  ...{ opened: 'good', clicked: 'good', enabled: 'good' },
  ...{
    bounced: 'bad',
    failed: 'bad',
    spam_report: 'bad',
    hard_bounce: 'bad',
    blocked: 'bad',
    suspended: 'bad',
    critical: 'bad',
  },
  ...{ spam_complaint: 'bad', disabled: 'bad', revoked: 'bad', expired: 'bad', unknown: 'warn', soft_bounce: 'warn' },
  ...{
    deferred: 'warn',
    paused: 'warn',
    slowed: 'warn',
    held: 'warn',
    pending: 'warn',
    warning: 'warn',
    probing: 'warn',
  },
  ...{ unsubscribed: 'warn', cancelled: 'warn' },
  ...{
    sending: 'info',
    sent: 'info',
    scheduled: 'info',
    warming: 'info',
    processing: 'info',
    claimed: 'info',
    running: 'info',
  },
};

export const toneOf = (status: string): Tone => TONES[status] ?? 'neutral';
