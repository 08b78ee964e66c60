// How mail comes into the two tables of reports: from a return path, or to an address that anyone may write to.
import { ownedNetworkOf } from '../../../../common/network';
import type { Statement } from '../../../../database/statements/statement';
import type { Appended, NewFeedbackReport, NewInboundReport } from '../inbound-report.entity';

// Appends one message as a report on each delivery that it was addressed to; one that is there already stays as it is. One
// that is new needs capacity: fewer than $9 reports on its delivery, and fewer than $10 open ones of its organization.
// Reads and writes: inbound_reports (primary key; index inbound_reports_open, up to $10 entries). Locks: the new rows, in key
// order. Rows: 1 to 10, nearly always 1. Messages that come at the same moment may exceed a limit by their number.
// Not the ORM: the limits, `on conflict do nothing`, and the bytes travel once for all rows.
const INSERT_REPORTS = `
  with given as materialized (
    select r.*,
      exists (
        select from inbound_reports known
        where known.organization_id = r.organization_id and known.mode = r.mode and known.email_id = r.email_id
          and known.position = r.position and known.digest = $6
      )
      or not exists (
        select from inbound_reports known
        where known.organization_id = r.organization_id and known.mode = r.mode and known.email_id = r.email_id
          and known.position = r.position
        offset $9 - 1
      )
      and not exists (
        select from inbound_reports open
        where open.organization_id = r.organization_id and open.processed_at is null
        offset $10 - 1
      ) as has_capacity
    from unnest($1::uuid[], $2::text[], $3::uuid[], $4::smallint[], $5::uuid[])
      as r (organization_id, mode, email_id, position, id)
  ), added as (
    insert into inbound_reports (organization_id, mode, email_id, position, digest, id, received_at, raw)
    select organization_id, mode, email_id, position, $6::bytea, id, $7::timestamptz, $8::bytea
    from given
    where has_capacity
    order by organization_id, mode, email_id, position
    on conflict (organization_id, mode, email_id, position, digest) do nothing
    returning 1
  )
  select (select count(*) from added)::int as added, count(*) filter (where not has_capacity)::int as refused from given`;

export interface ReportLimits {
  /** Reports on one delivery. */
  readonly perDelivery: number;
  /** Reports of one organization that are still to be processed. */
  readonly open: number;
}

export interface AppendedReports {
  /** New rows. */
  readonly added: number;
  /** Those for which there was no capacity. */
  readonly refused: number;
}

export interface ReportedMessage {
  readonly digest: Buffer;
  readonly raw: Buffer;
  readonly receivedAt: Date;
}

export function insertReports(
  reports: readonly NewInboundReport[],
  { digest, raw, receivedAt }: ReportedMessage,
  { perDelivery, open }: ReportLimits,
): Statement<AppendedReports> {
  return {
    name: 'insert-inbound-reports',
    text: INSERT_REPORTS,
    values: [
      reports.map((report) => report.organizationId),
      reports.map((report) => report.mode),
      reports.map((report) => report.emailId),
      reports.map((report) => report.position),
      reports.map((report) => report.id),
      ...[digest, receivedAt, raw, perDelivery, open],
    ],
  };
}

export interface FeedbackLimits {
  /** Smallest id of the hour that counts. */
  readonly sinceId: string;
  readonly perHour: number;
  readonly inAll: number;
  /** Of them, from one network. */
  readonly ofNetwork: { readonly perHour: number; readonly inAll: number };
}

// Appends one message to an address that anyone may write to, unless that has too many already: $6 since $7, or $8 in all; or
// too many of them from the network: $10 since $7, $11 in all, or, beside others, as many as are left to them. Of the last fifth no owner of
// networks, whose names begin with $12, has more than is left. One that is there already stays as it is. What floods one mailbox leaves the
// others alone, and however many networks do, one more has room in it.
// Reads: feedback_reports (indexes feedback_reports_mailbox and feedback_reports_network, index only). Writes: feedback_reports (primary key). Locks: the new
// row. Rows: 0 or 1. Messages that come at the same moment may exceed a limit by their number; it is a bound, not an account.
// Not the ORM: the limits and the insert are one statement.
const INSERT_FEEDBACK = `
  with counts as materialized (
    select
      (select count(*) from (select 1 from feedback_reports where mailbox = $3 and id >= $7 limit $6) lately) as lately,
      (select count(*) from (select 1 from feedback_reports where mailbox = $3 limit $8) stored) as stored,
      (select count(*) from (
        select 1 from feedback_reports where mailbox = $3 and network = $9 and id >= $7 limit $10
      ) own) as own_lately,
      (select count(*) from (select 1 from feedback_reports where mailbox = $3 and network = $9 limit $11) own) as own_stored
  ), state as materialized (
    select
      exists (select from feedback_reports where digest = $1) as is_known,
      lately < $6 and stored < $8 as has_capacity,
      own_lately < $10 and own_stored < $11
        and (own_lately = lately or own_lately < greatest($6 - lately, 1))
        and (own_stored = stored or own_stored < greatest($8 - stored, 1))
        and (lately < $6 * 0.8 or lately >= $6 or $6 - lately > (
          select count(*) from feedback_reports where mailbox = $3 and id >= $7 and starts_with(network, $12)
        ))
        and (stored < $8 * 0.8 or stored >= $8 or $8 - stored > (
          select count(*) from feedback_reports where mailbox = $3 and starts_with(network, $12)
        )) as has_share
    from counts
  ), added as (
    insert into feedback_reports (digest, id, mailbox, received_at, raw, network)
    select $1::bytea, $2::uuid, $3::text, $4::timestamptz, $5::bytea, $9::text
    from state
    where has_capacity and has_share and not is_known
    on conflict (digest) do nothing
    returning 1
  )
  select
    case
      when exists (select from added) then 'new'
      when is_known then 'duplicate'
      when not has_share then 'share'
      when not has_capacity then 'full'
      else 'duplicate'
    end as result
  from state`;

export function insertFeedbackReport(
  { digest, id, mailbox, receivedAt, raw, network }: NewFeedbackReport,
  { sinceId, perHour, inAll, ofNetwork }: FeedbackLimits,
): Statement<{ result: Appended }> {
  const owner = network.slice(0, ownedNetworkOf(network).length + 1);
  const limits = [perHour, sinceId, inAll, network, ofNetwork.perHour, ofNetwork.inAll, owner];
  const values = [digest, id, mailbox, receivedAt, raw, ...limits];
  return { name: 'insert-feedback-report', text: INSERT_FEEDBACK, values };
}
