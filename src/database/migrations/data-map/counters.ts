import { commentOn, OWNER } from './comment-on';

const HOUR = {
  ...OWNER,
  domain_id: 'none: the sender domain',
  hour: 'none: when it happened (UTC)',
  emails: 'none: emails accepted',
  accepted: 'none: recipients accepted',
  sent: 'none: recipients whose server took it',
  delivered: 'none: recipients whom it reached',
  bounced: 'none: recipients from whom it came back',
  failed: 'none: recipients for whom it was given up',
  deferred: 'none: attempts that were put off',
  complaints: 'none: recipients who complained',
  unsubscribes: 'none: recipients who unsubscribed',
  opens: 'none: recipients who opened it',
  clicks: 'none: recipients who clicked',
} as const;

/** Counters: of nobody in particular. */
export const COUNTERS = [
  commentOn('stats_hourly', 'as long as the organization: counters of nobody in particular', HOUR),
  commentOn('stats_deltas', 'seconds, until they are folded into stats_hourly', {
    id: 'none: which increment',
    ...HOUR,
  }),
].join('');
