import { commentOn, OWNER } from './comment-on';

const ACCOUNT = 'as long as the organization';
const DOMAIN = 'as long as the domain';
const TENANT = { organization_id: OWNER.organization_id };

const WARMING = {
  warming_status: 'none: how far the warm-up has come',
  warming_started_at: 'none: day 1 of the warm-up',
  warming_paused_at: 'none: when the warm-up was paused',
  warming_pause_reason: 'none: why it was paused',
  warming_judged_since: 'none: what happened before no longer counts',
} as const;

const SENDING = {
  sending_status: 'none: whether it may send',
  sending_status_reason: 'none: why it may not',
  sending_status_note: "text: the operator's own words",
  sending_status_since: 'none: since when',
  sending_judged_since: 'none: what happened before no longer counts',
  sending_below_since: 'none: since when it has behaved again',
  sending_daily_limit: 'none: recipients a day while it is slowed',
} as const;

/** Organizations, keys, domains, limits, workers. */
export const ACCOUNTS = [
  commentOn('organizations', ACCOUNT, {
    id: 'none: the tenant',
    ordinal: 'none: its short number in tokens',
    name: 'name: what the operator calls it',
    status: 'none: active or suspended',
    track_opens: 'none: default of its mail; off unless switched on',
    track_clicks: 'none: default of its mail; off unless switched on',
    created_at: 'none: when it was made',
    updated_at: 'none: when it was changed last',
  }),
  commentOn('api_keys', ACCOUNT, {
    ...OWNER,
    id: 'none: names the key, in the audit log too',
    name: 'text: what the customer calls it',
    scopes: 'none: what it may do',
    prefix: 'none: its first characters, to tell keys apart',
    hash: 'none: SHA-256 of the key, to recognise it',
    domain_id: 'none: the domain that it is bound to',
    expires_at: 'none: when it ends',
    last_used_at: 'none: shows keys that nobody uses',
    revoked_at: 'none: when it was ended',
    created_at: 'none: when it was made',
  }),
  commentOn('domains', DOMAIN, {
    ...TENANT,
    id: 'none: names the domain',
    domain: 'none: the sender domain',
    subdomain: 'none: its part below the registered name',
    verification_status: 'none: whether its owner has proved it',
    verification_token: 'none: what the owner publishes',
    verified_at: 'none: when it was proved',
    dkim_selector: 'none: where its key is published',
    dkim_status: 'none: whether that key has been seen',
    is_default: 'none: used when a mail names no domain',
    created_at: 'none: when it was added',
    updated_at: 'none: when it was changed last',
    next_check_at: 'none: when its records are looked at next',
    last_checked_at: 'none: when they were looked at last',
    verification_failing_since: 'none: since when the proof is gone',
    dkim_failing_since: 'none: since when the key is gone',
    return_path_verified: 'none: whether bounces may go to a name of its own',
    tracking_verified: 'none: whether links may lead over a name of its own',
    reputation_score: 'none: computed of its counters',
    ...WARMING,
    ...SENDING,
  }),
  commentOn('removed_domains', ACCOUNT, {
    ...TENANT,
    domain: 'none: a domain that is added again goes on where it was',
    id: 'none: its id at that time',
    removed_at: 'none: when it was removed',
    ...WARMING,
    ...SENDING,
  }),
  commentOn('dkim_keys', '48 hours after the next key', {
    ...TENANT,
    domain_id: 'none: the domain that it signs for',
    selector: 'none: where it is published',
    private_key_sealed: 'none: signs mail; encrypted',
    public_key: 'none: what is published',
    state: 'none: pending, active or retiring',
    created_at: 'none: when it was made',
    expires_at: 'none: when it is no longer published',
  }),
  commentOn('domain_checks', DOMAIN, {
    ...TENANT,
    domain_id: 'none: the domain',
    purpose: 'none: what the record is for',
    host: 'none: its name',
    result: 'none: what was found',
    verified: 'none: whether it counts as there',
    problem: 'none: a sentence for the person who edits the zone',
    checked_at: 'none: when it was looked up',
    failing_since: 'none: since when it is gone',
  }),
  commentOn('warm_up_usage', '2 days', {
    ...TENANT,
    domain_id: 'none: the domain',
    day: 'none: the day (UTC)',
    recipients: 'none: how many it has used of its day',
    daily_limit: 'none: how many it had',
    last_grant: 'none: how many were given last',
  }),
  commentOn('audit_log', 'RETENTION_AUDIT_MONTHS', {
    ...TENANT,
    id: 'none: names the entry',
    occurred_at: 'none: when it was done',
    actor: 'none: the id of an API key, operator or system',
    action: 'none: what was done',
    target_type: 'none: to what kind of thing',
    target_id: 'none: its id, or a route',
    data: 'masked: more about it; addresses masked',
  }),
  commentOn('throttle_hits', 'the window: an hour at most, a day for test limits', {
    key: 'none: the id of an API key or a domain, and the limit',
    window_start: 'none: the window',
    hits: 'none: requests in it',
    expires_at: 'none: when it no longer counts',
  }),
  commentOn('worker_sessions', 'minutes after the process has ended', {
    id: 'none: names the process',
    host: 'none: the machine that it runs on',
    process_id: 'none: its number there',
    started_at: 'none: when it began',
    lease_until: 'none: until when it counts as alive',
  }),
].join('');

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
