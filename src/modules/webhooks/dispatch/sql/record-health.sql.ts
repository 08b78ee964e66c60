// Notes how endpoints answer and disables those that are gone or have done nothing but fail for too long. Only what changes
// is written: a success counts once every few seconds, and a failure after a failure is no news. That an endpoint fails
// stays noted after a success until its messages have been brought forward (see bring-forward).
// Writes: webhook_endpoints (primary key). Locks: the rows in the order of their keys. Rows: the endpoints of one batch.
// Not the ORM: the new values depend on the old ones, for many rows at once.
import type { Statement } from '../../../../database/statement';
import type { DisabledReason } from '../../webhook-endpoint.entity';
import type { EndpointKey, EndpointResult } from '../dispatched-message';

const TEXT = `
  with before as materialized (
    select e.organization_id, e.mode, e.id, t.result, e.failing_since is not null as was_failing,
      case
        when not e.enabled then null
        when t.result = 'gone' then 'gone'
        when t.result = 'failed' and e.failing_since <= $6 then 'failing'
      end as end_reason,
      t.result = 'succeeded' and (e.last_success_at is null or e.last_success_at <= $7) as is_news
    from unnest($1::uuid[], $2::text[], $3::uuid[], $4::text[]) as t (organization_id, mode, id, result)
    join webhook_endpoints e using (organization_id, mode, id)
    order by e.organization_id, e.mode, e.id
    for update of e
  )
  update webhook_endpoints e
  set
    last_success_at = case when b.result = 'succeeded' then $5 else e.last_success_at end,
    failing_since = case when b.result = 'succeeded' then e.failing_since else coalesce(e.failing_since, $5) end,
    enabled = e.enabled and b.end_reason is null,
    disabled_reason = coalesce(b.end_reason, e.disabled_reason),
    disabled_at = case when b.end_reason is null then e.disabled_at else $5 end,
    updated_at = case when b.end_reason is null then e.updated_at else $5 end
  from before b
  where e.organization_id = b.organization_id and e.mode = b.mode and e.id = b.id
    and (b.end_reason is not null or b.is_news or b.was_failing = (b.result = 'succeeded'))
  returning e.organization_id as "organizationId", e.mode, e.id as "endpointId", b.end_reason as "endReason",
    b.result = 'succeeded' and b.was_failing as "isRecovered", e.failing_since as "failingSince"`;

export interface EndpointChange extends EndpointKey {
  /** Set when it has been disabled by this. */
  readonly endReason: DisabledReason | null;
  /** It has answered well after failures. */
  readonly isRecovered: boolean;
  readonly failingSince: Date | null;
}

export interface HealthInput {
  /** One for each endpoint. */
  readonly results: readonly (EndpointKey & { readonly result: EndpointResult })[];
  readonly now: Date;
  /** An endpoint that has failed since then or longer is disabled. */
  readonly failingBefore: Date;
  /** A success after one since then is no news. */
  readonly succeededBefore: Date;
}

export function recordHealth({ results, now, failingBefore, succeededBefore }: HealthInput): Statement<EndpointChange> {
  return {
    name: 'record-webhook-health',
    text: TEXT,
    values: [
      results.map(({ organizationId }) => organizationId),
      results.map(({ mode }) => mode),
      results.map(({ endpointId }) => endpointId),
      results.map(({ result }) => result),
      now,
      failingBefore,
      succeededBefore,
    ],
  };
}
