import type { Statement } from '../../../database/statements/statement';

// TLS: policies of receiving domains, as any worker has fetched them, and connections to domains that ask for reports.

/** A policy of a receiving domain (RFC 8461). */
export interface StoredPolicy {
  readonly mode: 'enforce' | 'testing' | 'none';
  readonly mx: readonly string[];
  readonly maxAgeSeconds: number;
}

/** The stored state of a domain that announces a policy. */
export interface KnownPolicy {
  domain: string;
  /** Of the policy that is kept; null without one that still holds. */
  policyId: string | null;
  mode: StoredPolicy['mode'] | null;
  mx: string[];
  /** Null of a policy that older code has stored. */
  maxAgeSeconds: number | null;
  /** Until the policy expires. */
  leftSeconds: number;
  triedId: string | null;
  /** True while some process is fetching it. */
  isBeingFetched: boolean;
  /** True for a while after a failure. */
  isResting: boolean;
  failure: string | null;
  failureType: string | null;
}

// What is known of some domains, and that their policies are in use.
// Reads: mta_sts_policies (primary key). Writes: the same rows, once a day each. Locks: those, skipping locked ones.
// Rows: the domains that mail has come for in the last moment. Not the ORM: the server's clock.
const READ_POLICIES = `
  with used as (
    update mta_sts_policies set used_at = now() where domain in (
      select domain from mta_sts_policies where domain = any ($1::text[]) and used_at < now() - interval '1 day'
      for update skip locked))
  select domain, tried_id as "triedId", failure, failure_type as "failureType",
    coalesce(fetching_until > now(), false) as "isBeingFetched", coalesce(retry_at > now(), false) as "isResting",
    case when expires_at > now() then policy_id end as "policyId",
    case when expires_at > now() then mode end as mode, mx, max_age as "maxAgeSeconds",
    greatest(coalesce(extract(epoch from expires_at - now()), 0), 0)::float8 as "leftSeconds"
  from mta_sts_policies
  where domain = any ($1::text[])`;

/**
 * Returns what is stored about the MTA-STS policies (RFC 8461) of some domains; a domain that was never looked up has no row.
 */
export function readPolicies(domains: readonly string[]): Statement<KnownPolicy> {
  return { name: 'read-mta-sts-policies', text: READ_POLICIES, values: [domains] };
}

// Takes the right to fetch a domain's policy: of several processes that want to, one gets it; none for a while after that
// very policy could not be fetched.
// Writes: mta_sts_policies (primary key). Locks: that row. Rows: one, seldom. Not the ORM: an upsert by the server's clock.
const TAKE = `
  insert into mta_sts_policies as p (domain, tried_id, fetching_until)
  values ($1, $2, now() + $3 * interval '1 second')
  on conflict (domain) do update set tried_id = excluded.tried_id, fetching_until = excluded.fetching_until
  where (p.fetching_until is null or p.fetching_until <= now())
    and (p.retry_at is null or p.retry_at <= now() or p.tried_id is distinct from excluded.tried_id)
    -- Another process may have fetched it since this one read.
    and (p.policy_id is distinct from excluded.tried_id or p.expires_at <= now() or p.refresh_at <= now())
  returning domain`;

/**
 * Takes the right to fetch a policy. No row: another process has it, or the last attempt failed recently.
 * @param seconds how long the right lasts
 */
export function takeFetch(domain: string, policyId: string, seconds: number): Statement<{ domain: string }> {
  return { name: 'take-mta-sts-fetch', text: TAKE, values: [domain, policyId, seconds] };
}

// Stores a policy for its max_age; it is fetched again after half of that, and at least once a day.
// Writes: mta_sts_policies (primary key). Locks: that row. Rows: one, seldom. Not the ORM: the server's clock.
const STORE = `
  update mta_sts_policies set
    policy_id = $2, mode = $3, mx = $4::text[], max_age = $6, expires_at = now() + $5 * interval '1 second',
    refresh_at = now() + least($5 / 2, 86400) * interval '1 second',
    fetching_until = null, retry_at = null, failure = null, failure_type = null
  where domain = $1`;

/** @param lifeSeconds how long it holds */
export function storePolicy(
  domain: string,
  policyId: string,
  { mode, mx, maxAgeSeconds }: StoredPolicy,
  lifeSeconds: number,
): Statement<never> {
  return {
    name: 'store-mta-sts-policy',
    text: STORE,
    values: [domain, policyId, mode, mx, lifeSeconds, maxAgeSeconds],
  };
}

// Notes that a policy could not be fetched; one that is kept holds on.
// Writes: mta_sts_policies (primary key). Locks: that row. Rows: one, seldom. Not the ORM: the server's clock.
const NOTE_FAILURE = `
  update mta_sts_policies set
    fetching_until = null, retry_at = now() + $2 * interval '1 second', refresh_at = now() + interval '1 hour',
    failure = $3, failure_type = $4
  where domain = $1`;

/**
 * Stores why a policy could not be fetched; a policy that is still valid stays in force.
 * @param failure `type` as in RFC 8460 section 4.3
 */
export function noteFailure(
  domain: string,
  { reason, type, restSeconds }: { reason: string; type: string; restSeconds: number },
): Statement<never> {
  return { name: 'note-mta-sts-failure', text: NOTE_FAILURE, values: [domain, restSeconds, reason, type] };
}

// Domains whose policy is to be fetched before it expires, because mail still asks for it.
// Reads: mta_sts_policies (mta_sts_policies_refresh). Locks: none. Rows: the limit. Not the ORM: the server's clock.
const DUE_POLICIES = `
  select domain from mta_sts_policies
  where mode is not null and refresh_at <= now() and expires_at > now() and used_at > now() - interval '30 days'
  order by refresh_at
  limit $1`;

/** Returns domains whose stored policy is used and due to be refreshed. @param limit at most so many */
export function duePolicies(limit: number): Statement<{ domain: string }> {
  return { name: 'due-mta-sts-policies', text: DUE_POLICIES, values: [limit] };
}

// Removes what has expired, and what has not been used for a month.
// Writes: mta_sts_policies (whole: domains that announce a policy). Locks: the rows. Rows: a few a day.
// Not the ORM: the server's clock.
const REMOVE_POLICIES = `
  delete from mta_sts_policies
  where coalesce(fetching_until, retry_at, '-infinity') < now() - interval '1 day'
    and (coalesce(expires_at, '-infinity') < now() or used_at < now() - interval '31 days')
  returning 1 as removed`;

/** Deletes policies that have expired or were not used for 31 days, and returns a row for each. */
export function removePolicies(): Statement<{ removed: 1 }> {
  return { name: 'remove-mta-sts-policies', text: REMOVE_POLICIES, values: [] };
}

/** One connection, as a report on TLS counts it (RFC 8460 section 4). */
export interface CountedSession {
  /** Whose policy it falls under. */
  readonly domain: string;
  readonly policyType: 'sts' | 'tlsa' | 'no-policy-found';
  /** `success`, or a failure of section 4.3. */
  readonly result: string;
  /** Empty for a success, save where the host's own TLSA records were the policy. */
  readonly mxHost: string;
  readonly sendingIp: string;
  readonly receivingIp: string;
  /** The policy itself, one statement a line; empty where there is none. Of one that changes in the day, the last. */
  readonly policy: string;
}

export type SessionCount = CountedSession & { readonly sessions: number };

// Adds what one worker has counted within half a minute to today's.
// Writes: tls_sessions (primary key). Locks: those rows, in key order. Rows: the kinds of connections, some for each domain.
// Not the ORM: an upsert that adds.
const ADD = `
  insert into tls_sessions as t (day, domain, policy_type, result, mx_host, sending_ip, receiving_ip, sessions, policy)
  select (now() at time zone 'utc')::date, domain, policy_type, result, mx_host, sending_ip, receiving_ip, sessions, policy
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[])
    as s (domain, policy_type, result, mx_host, sending_ip, receiving_ip, sessions, policy)
  order by domain, policy_type, result, mx_host, sending_ip, receiving_ip
  on conflict (day, domain, policy_type, result, mx_host, sending_ip, receiving_ip)
    do update set sessions = t.sessions + excluded.sessions, 
      policy = case when excluded.policy = '' then t.policy else excluded.policy end`;

/** @param counts each kind once */
export function addSessions(counts: readonly SessionCount[]): Statement<never> {
  return {
    name: 'add-tls-sessions',
    text: ADD,
    values: [
      counts.map(({ domain }) => domain),
      counts.map(({ policyType }) => policyType),
      counts.map(({ result }) => result),
      counts.map(({ mxHost }) => mxHost),
      counts.map(({ sendingIp }) => sendingIp),
      counts.map(({ receivingIp }) => receivingIp),
      counts.map(({ sessions }) => sessions),
      counts.map(({ policy }) => policy),
    ],
  };
}

/** A day that is over, and a domain that was connected to. */
export interface DueReport {
  /** `2026-01-31`. */
  readonly day: string;
  readonly domain: string;
}

// Days that are over, with the domains that were connected to on them.
// Reads: tls_sessions (primary key, index only). Locks: none. Rows: up to $1. Not the ORM: the server's clock.
const DUE_SESSIONS = `
  select distinct day::text as day, domain from tls_sessions
  where day < (now() at time zone 'utc')::date
  order by day, domain
  limit $1`;

/** Returns days and domains to report on (RFC 8460), the oldest first. @param limit at most so many */
export function dueReports(limit: number): Statement<DueReport> {
  return { name: 'due-tls-reports', text: DUE_SESSIONS, values: [limit] };
}

// What was counted for one report.
// Reads: tls_sessions (primary key). Locks: none. Rows: those of a day and a domain, the 500 largest. Not the ORM: a bigint as number.
const READ_SESSIONS = `
  select domain, policy_type as "policyType", result, mx_host as "mxHost", sending_ip as "sendingIp",
    receiving_ip as "receivingIp", sessions::float8 as sessions, policy
  from tls_sessions
  where day = $1::date and domain = $2
  order by sessions desc, policy_type, result, mx_host, sending_ip, receiving_ip
  limit 500`;

/** Returns the counted sessions of one report, at most 500 groups, the largest first. */
export function readSessions({ day, domain }: DueReport): Statement<SessionCount> {
  return { name: 'read-tls-sessions', text: READ_SESSIONS, values: [day, domain] };
}

// Removes what has been reported.
// Writes: tls_sessions (primary key). Locks: the rows. Rows: those of a day and a domain. Not the ORM: beside the others.
const REMOVE_SESSIONS = `delete from tls_sessions where day = $1::date and domain = $2`;

/** Deletes the counts of one report after it was sent. */
export function removeSessions({ day, domain }: DueReport): Statement<never> {
  return { name: 'remove-tls-sessions', text: REMOVE_SESSIONS, values: [day, domain] };
}

// Removes what could not be reported within three days.
// Writes: tls_sessions (primary key). Locks: the rows. Rows: those of a few domains. Not the ORM: the server's clock.
const REMOVE_OLD = `
  delete from tls_sessions where day < (now() at time zone 'utc')::date - 3 returning 1 as removed`;

/** Deletes counts that are older than three days, and returns a row for each. */
export function removeOldSessions(): Statement<{ removed: 1 }> {
  return { name: 'remove-old-tls-sessions', text: REMOVE_OLD, values: [] };
}
