import type { Tenant } from '../../../../common/tenant';
import type { Statement } from '../../../../database/statements/statement';

// Renames former names of phases in stored events, batch by batch (docs/upgrading.md, backfills).
// Tables: email_events (primary key; each batch one range of one organization and mode). Locks: the rows it changes. Rows: a batch.
// The current names are passed as JSON: converting a column's text takes a function that is not immutable, which an update of
// distributed rows must not use (docs/scaling.md).
// Not the ORM: reads and writes a batch in one round trip.
/** The last examined event. */
export interface EventPosition {
  readonly organizationId: string;
  /** Exclusive end of the range: later emails were accepted after the backfill started. */
  readonly before: string;
  readonly mode: string;
  readonly emailId: string;
  readonly sequence: number;
}

export interface RenamedBatch {
  readonly examined: number;
  readonly changed: number;
  readonly last: Pick<EventPosition, 'emailId' | 'sequence'>;
}

/** The estimate of the last ANALYZE, which costs nothing. */
const COUNT = `
  select coalesce(sum(greatest(reltuples, 0)), 0)::float8 as rows from pg_class
  where oid in (select relid from pg_partition_tree('email_events') where isleaf)`;

const RENAME = `
  with batch as materialized (
    select mode, email_id, sequence, data->>'phase' as phase from email_events
    where organization_id = $1 and mode = $2 and (email_id, sequence) > ($3, $4) and email_id < $8
    order by email_id, sequence
    limit $7
  ), changed as (
    update email_events v set data = jsonb_set(v.data, '{phase}', n.present)
    from batch b, unnest($5::text[], $6::jsonb[]) as n (former, present)
    where v.organization_id = $1 and v.mode = b.mode and v.email_id = b.email_id and v.sequence = b.sequence
      and n.former = b.phase
    returning 1
  )
  select
    (select count(*) from batch)::int as examined,
    (select count(*) from changed)::int as changed,
    json_build_object('emailId', email_id, 'sequence', sequence) as last
  from batch
  order by email_id desc, sequence desc
  limit 1`;

export function countEvents(): Statement<{ rows: number }> {
  return { name: 'estimate-events', text: COUNT, values: [] };
}

/** Reads the next events of one organization and mode; no row when there are no more. */
export function renamePhases(
  { organizationId, mode, emailId, sequence, before }: EventPosition,
  names: ReadonlyMap<string, string>,
  limit: number,
): Statement<RenamedBatch> {
  const present = [...names.values()].map((name) => JSON.stringify(name));
  const values = [organizationId, mode, emailId, sequence, [...names.keys()], present, limit, before];
  return { name: 'rename-phases', text: RENAME, values };
}

// Lists one page of a tenant's event log, each event with the server's reply if it records one.
// Reads: email_events (index email_events_feed). Locks: none. Rows: one page. Not the ORM: a walk by ids with a filter.
/** A recorded refusal; events without a refusal are rows too, with `code` null. */
export interface StoredReply {
  readonly id: string;
  /** Null when the event is no refusal by SMTP, or the server did not reply. */
  readonly code: number | null;
  readonly enhancedCode: string | null;
  readonly phase: string | null;
  readonly lines: readonly string[] | null;
  readonly response: string | null;
  readonly ruleId: string | null;
  /** The action of the rule; null in events from before it was stored. */
  readonly action: string | null;
}

const TEXT = `
  select
    id, case when event_type in ('deferred', 'bounced', 'failed') and source = 'smtp' then (data ->> 'code')::int end as code,
    data ->> 'enhancedCode' as "enhancedCode", data ->> 'phase' as phase, data -> 'lines' as lines,
    data ->> 'response' as response, data ->> 'ruleId' as "ruleId", trace ->> 'action' as action
  from email_events
  where organization_id = $1 and mode = $2 and id > $3
  order by id
  limit $4`;

/** Every event of the page has a row, so that the caller can page by id. @param after exclusive */
export function listStoredReplies(
  { organizationId, mode }: Tenant,
  after: string,
  limit: number,
): Statement<StoredReply> {
  return { name: 'list-stored-replies', text: TEXT, values: [organizationId, mode, after, limit] };
}
