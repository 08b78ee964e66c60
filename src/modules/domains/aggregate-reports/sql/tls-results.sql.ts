// The TLS reports of senders (RFC 8460).
import type { Statement } from '../../../../database/statements/statement';
import type { DomainOfReport, ReportLimits, TlsReport, TlsResult } from '../aggregate-report';

// Adds the results of one report on a domain, once, however often it arrives: none when the domain has had $11 reports within a
// day, and the largest ones that $12 rows of a day leave room for, since reports are not authenticated.
// Writes: tls_results (primary key). Reads: it (tls_results_received, up to $12 rows). Locks: those rows, in key order. Rows: up
// to 300. Reports that are recorded at the same moment may exceed a limit by their rows.
// Not the ORM: an insert of many rows under a condition.
const ADD = `
  with lately as materialized (
    select count(*) as results, count(distinct (reporter, report_id)) as reports
    from tls_results
    where organization_id = $1 and domain_id = $2 and received_at > now() - interval '1 day'
  ), kept as (
    select policy_type, result, mx_host, sessions
    from unnest($7::text[], $8::text[], $9::text[], $10::bigint[]) as r (policy_type, result, mx_host, sessions)
    where (select reports from lately) < $11
    order by sessions desc, policy_type, result, mx_host
    limit (select greatest($12 - results, 0) from lately)
  )
  insert into tls_results (
    organization_id, domain_id, reporter, report_id, begins_at, ends_at, policy_type, result, mx_host, sessions
  )
  select $1::uuid, $2::uuid, $3::text, $4::text, $5::timestamptz, $6::timestamptz, policy_type, result, mx_host, sessions
  from kept
  order by policy_type, result, mx_host
  on conflict do nothing
  returning 1 as added`;

/** @param results each kind once */
export function addTlsResults(
  { organizationId, domainId }: DomainOfReport,
  { reporter, reportId, begin, end }: Omit<TlsReport, 'domains'>,
  results: readonly TlsResult[],
  { reportsPerDay, rowsPerDay }: ReportLimits,
): Statement<{ added: 1 }> {
  return {
    name: 'add-tls-results',
    text: ADD,
    values: [
      ...[organizationId, domainId, reporter, reportId, begin, end],
      results.map(({ policyType }) => policyType),
      results.map(({ result }) => result),
      results.map(({ mxHost }) => mxHost),
      results.map(({ sessions }) => sessions),
      ...[reportsPerDay, rowsPerDay],
    ],
  };
}

// A report ends at most two days after it is received, so that the index on the time of receipt bounds the rows.
const OF_DOMAIN = `
  from tls_results
  where organization_id = $1 and domain_id = $2 and ends_at >= now() - $3::int * interval '1 day'
    and received_at >= now() - ($3::int + 3) * interval '1 day'`;

// Counts the reports on a domain of the last $3 days.
// Reads: tls_results (tls_results_received). Locks: none. Rows: one, of some hundreds. Not the ORM: aggregates.
const COUNT = `
  select count(*)::float8 as reports, count(distinct reporter)::float8 as reporters
  from (select reporter, report_id ${OF_DOMAIN} group by reporter, report_id) r`;

/** Returns one row. */
export function countTlsReports(
  { organizationId, domainId }: DomainOfReport,
  days: number,
): Statement<{ reports: number; reporters: number }> {
  return { name: 'count-tls-reports', text: COUNT, values: [organizationId, domainId, days] };
}

// Sums their results: failures first, the most frequent before the others.
// Reads: tls_results (tls_results_received). Locks: none. Rows: up to $4. Not the ORM: aggregates.
const SUM = `
  select policy_type as "policyType", result, mx_host as "mxHost", sum(sessions)::float8 as sessions
  ${OF_DOMAIN}
  group by policy_type, result, mx_host
  order by result = 'success', sum(sessions) desc, policy_type, result, mx_host
  limit $4`;

/** Sessions per policy type, result and host. @param limit rows at most */
export function sumTlsResults(
  { organizationId, domainId }: DomainOfReport,
  days: number,
  limit: number,
): Statement<TlsResult> {
  return { name: 'sum-tls-results', text: SUM, values: [organizationId, domainId, days, limit] };
}

// Deletes up to $2 rows received more than $1 days ago. Without organization: retention is the same for all.
// Writes: tls_results (tls_results_old). Locks: the rows, skip locked. Rows: up to $2. Not the ORM: a bounded delete.
const DELETE_OLD = `
  delete from tls_results
  where ctid = any (array(
    select ctid from tls_results where received_at < now() - $1 * interval '1 day' limit $2 for update skip locked
  ))
  returning 1 as deleted`;

/** Returns one row per deleted one. */
export function deleteOldTlsResults(days: number, limit: number): Statement<{ deleted: 1 }> {
  return { name: 'delete-old-tls-results', text: DELETE_OLD, values: [days, limit] };
}
