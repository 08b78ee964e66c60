// Connections to domains that ask for reports on TLS.
import type { Statement } from '../../../database/statement';

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
const DUE = `
  select distinct day::text as day, domain from tls_sessions
  where day < (now() at time zone 'utc')::date
  order by day, domain
  limit $1`;

export function dueReports(limit: number): Statement<DueReport> {
  return { name: 'due-tls-reports', text: DUE, values: [limit] };
}

// What was counted for one report.
// Reads: tls_sessions (primary key). Locks: none. Rows: those of a day and a domain, the 500 largest. Not the ORM: a bigint as number.
const READ = `
  select domain, policy_type as "policyType", result, mx_host as "mxHost", sending_ip as "sendingIp",
    receiving_ip as "receivingIp", sessions::float8 as sessions, policy
  from tls_sessions
  where day = $1::date and domain = $2
  order by sessions desc, policy_type, result, mx_host, sending_ip, receiving_ip
  limit 500`;

export function readSessions({ day, domain }: DueReport): Statement<SessionCount> {
  return { name: 'read-tls-sessions', text: READ, values: [day, domain] };
}

// Removes what has been reported.
// Writes: tls_sessions (primary key). Locks: the rows. Rows: those of a day and a domain. Not the ORM: beside the others.
const REMOVE = `delete from tls_sessions where day = $1::date and domain = $2`;

export function removeSessions({ day, domain }: DueReport): Statement<never> {
  return { name: 'remove-tls-sessions', text: REMOVE, values: [day, domain] };
}

// Removes what could not be reported within three days.
// Writes: tls_sessions (primary key). Locks: the rows. Rows: those of a few domains. Not the ORM: the server's clock.
const REMOVE_OLD = `
  delete from tls_sessions where day < (now() at time zone 'utc')::date - 3 returning 1 as removed`;

export function removeOldSessions(): Statement<{ removed: 1 }> {
  return { name: 'remove-old-tls-sessions', text: REMOVE_OLD, values: [] };
}
