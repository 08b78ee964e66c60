// The DMARC reports of receivers.
import type { Statement } from '../../../../database/statements/statement';
import type { DmarcPolicy, DmarcReport, DmarcSource, DomainOfReport, ReportLimits } from '../aggregate-report';

// Adds the sources of one report, once, however often it arrives: none when the domain has had $13 reports within a day, and
// the largest ones that $14 rows of a day leave room for.
// Writes: dmarc_sources (primary key). Reads: it (dmarc_sources_received, up to $14 rows). Locks: those rows, in key order.
// Rows: up to 500. Reports that are recorded at the same moment may exceed a limit by their rows.
// Not the ORM: an insert of many rows under a condition.
const ADD = `
  with lately as materialized (
    select count(*) as sources, count(distinct (reporter, report_id)) as reports
    from dmarc_sources
    where organization_id = $1 and domain_id = $2 and received_at > now() - interval '1 day'
  ), kept as (
    select source_ip, dkim, spf, disposition, messages
    from unnest($8::text[], $9::boolean[], $10::boolean[], $11::text[], $12::bigint[])
      as s (source_ip, dkim, spf, disposition, messages)
    where (select reports from lately) < $13
    order by messages desc, source_ip, dkim, spf, disposition
    limit (select greatest($14 - sources, 0) from lately)
  )
  insert into dmarc_sources (
    organization_id, domain_id, reporter, report_id, policy, begins_at, ends_at,
    source_ip, dkim, spf, disposition, messages
  )
  select $1::uuid, $2::uuid, $3::text, $4::text, $5::text, $6::timestamptz, $7::timestamptz,
    source_ip, dkim, spf, disposition, messages
  from kept
  order by source_ip, dkim, spf, disposition
  on conflict do nothing
  returning 1 as added`;

/** @param report each source, result and disposition once */
export function addSources(
  { organizationId, domainId }: DomainOfReport,
  { reporter, reportId, policy, begin, end, records }: DmarcReport,
  { reportsPerDay, rowsPerDay }: ReportLimits,
): Statement<{ added: 1 }> {
  return {
    name: 'add-dmarc-sources',
    text: ADD,
    values: [
      ...[organizationId, domainId, reporter, reportId, policy, begin, end],
      records.map(({ sourceIp }) => sourceIp),
      records.map(({ dkim }) => dkim),
      records.map(({ spf }) => spf),
      records.map(({ disposition }) => disposition),
      records.map(({ messages }) => messages),
      ...[reportsPerDay, rowsPerDay],
    ],
  };
}

// A report ends at most two days after it is received (`isPlausible`), so that the index on the time of receipt bounds the rows.
const OF_DOMAIN = `
  from dmarc_sources
  where organization_id = $1 and domain_id = $2 and ends_at >= now() - $3::int * interval '1 day'
    and received_at >= now() - ($3::int + 3) * interval '1 day'`;

export interface TotalsRow {
  readonly reports: number;
  readonly reporters: number;
  readonly policy: DmarcPolicy | null;
  readonly days: number;
  readonly messages: number;
  readonly passed: number;
}

// Sums the reports on a domain of the last $3 days. Sums of each report first, which are hashed: a distinct count of all rows
// sorts them, in nine tenths of the time.
// Reads: dmarc_sources (dmarc_sources_received). Locks: none. Rows: one, of usually thousands.
// Not the ORM: aggregates.
const TOTALS = `
  with of_report as materialized (
    select reporter, report_id, max(policy) as policy, min(begins_at) as begins_at, max(ends_at) as ends_at,
      sum(messages) as messages, sum(messages) filter (where dkim or spf) as passed
    ${OF_DOMAIN}
    group by reporter, report_id
  )
  select count(*)::float8 as reports, count(distinct reporter)::float8 as reporters,
    (array_agg(policy order by ends_at desc))[1] as policy,
    coalesce(extract(epoch from max(ends_at) - min(begins_at)) / 86400, 0)::float8 as days,
    coalesce(sum(messages), 0)::float8 as messages, coalesce(sum(passed), 0)::float8 as passed
  from of_report`;

/** Returns one row: zeros, and a null policy, without reports. */
export function sumDmarc({ organizationId, domainId }: DomainOfReport, days: number): Statement<TotalsRow> {
  return { name: 'sum-dmarc', text: TOTALS, values: [organizationId, domainId, days] };
}

// Sums the sources of mail in a domain's name of the last $3 days, those with the most failed messages first.
// Reads: dmarc_sources (dmarc_sources_received). Locks: none. Rows: up to $4.
// Not the ORM: aggregates.
const SOURCES = `
  select source_ip as "sourceIp", sum(messages)::float8 as messages,
    coalesce(sum(messages) filter (where dkim), 0)::float8 as "dkimAligned",
    coalesce(sum(messages) filter (where spf), 0)::float8 as "spfAligned",
    coalesce(sum(messages) filter (where dkim or spf), 0)::float8 as passed,
    coalesce(sum(messages) filter (where disposition <> 'none'), 0)::float8 as refused
  ${OF_DOMAIN}
  group by source_ip
  order by sum(messages) filter (where not dkim and not spf) desc nulls last, sum(messages) desc, source_ip
  limit $4`;

/** Counts of messages per source address. @param limit sources at most */
export function sumDmarcSources(
  { organizationId, domainId }: DomainOfReport,
  days: number,
  limit: number,
): Statement<DmarcSource> {
  return { name: 'sum-dmarc-sources', text: SOURCES, values: [organizationId, domainId, days, limit] };
}

// Deletes up to $2 rows received more than $1 days ago. Without organization: retention is the same for all.
// Writes: dmarc_sources (dmarc_sources_old). Locks: the rows, skip locked. Rows: up to $2.
// Not the ORM: a bounded delete.
const DELETE_OLD = `
  delete from dmarc_sources
  where ctid = any (array(
    select ctid from dmarc_sources where received_at < now() - $1 * interval '1 day' limit $2 for update skip locked
  ))
  returning 1 as deleted`;

/** Returns one row per deleted one. */
export function deleteOldDmarc(days: number, limit: number): Statement<{ deleted: 1 }> {
  return { name: 'delete-old-dmarc', text: DELETE_OLD, values: [days, limit] };
}
