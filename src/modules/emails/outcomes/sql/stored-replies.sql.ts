// One page of a tenant's event log, of which those come back that a reply led to.
// Reads: email_events (index email_events_feed). Locks: none. Rows: one page. Not the ORM: a walk by ids with a filter.
import type { Tenant } from '../../../../common/tenant';
import type { Statement } from '../../../../database/statement';

/** A refusal as it was recorded. */
export interface StoredReply {
  readonly id: string;
  /** Null: there was no reply of a server. */
  readonly code: number | null;
  readonly enhancedCode: string | null;
  readonly phase: string | null;
  readonly lines: readonly string[] | null;
  readonly response: string | null;
  readonly ruleId: string | null;
  /** What the rule called for; null of what was recorded before that was kept. */
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

export function listStoredReplies(
  { organizationId, mode }: Tenant,
  after: string,
  limit: number,
): Statement<StoredReply> {
  return { name: 'list-stored-replies', text: TEXT, values: [organizationId, mode, after, limit] };
}
