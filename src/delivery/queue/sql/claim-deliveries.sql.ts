// Claims due deliveries for one worker session: of each organization the share that its turn gives it. Within one, its
// destinations take equal shares, and for one destination transactional mail goes before bulk, which keeps a tenth. So neither
// a noisy tenant nor a slow destination nor a newsletter starves the others. A session whose lease has ended claims nothing:
// no job would free it again.
// Reads and writes: deliveries; reads worker_sessions (primary key). Index: deliveries_ready (organization_id, destination,
// category, due_at, …), walked by loose index scans: the cost follows the number of pairs (organization, destination) read, not
// the depth of the queue.
// Locks: the claimed rows, skip locked. Rows: up to the sum of the shares.
// Not the ORM: recursive look-ups and SKIP LOCKED; 25,000–40,000 rows/s in batches of 100.
import type { Statement } from '../../../database/statement';
import type { ClaimedDelivery } from '../../ports/delivery';
import {
  blockedColumn,
  type DestinationLimit,
  destinationsColumn,
  destinationsOf,
  type ProvenOnly,
  provenOnlyColumns,
} from './ready-destinations.sql';

/** A `ClaimedDelivery`, from the updated row `d`. */
export const CLAIMED_COLUMNS = `
    d.organization_id as "organizationId",
    d.mode,
    d.email_id as "emailId",
    d.position,
    d.domain_id as "domainId",
    d.recipient,
    d.destination,
    d.category,
    d.attempt,
    d.crashes,
    d.refusals,
    d.session_id as "sessionId",
    d.claim_token as "claimToken",
    clock_timestamp() as "claimedAt",
    d.first_due_at as "firstDueAt",
    d.expires_at as "expiresAt",
    encode(d.trace_context, 'hex') as "traceContext"`;

/** The oldest ready rows of the pair `p` in one category, locked. */
const oldest = (category: string, most: string): string => `
          select * from (
            select d.organization_id, d.mode, d.email_id, d.position
            from deliveries d
            where d.state = 'ready' and d.organization_id = p.organization_id and d.destination = p.destination
              and d.category = '${category}'
            order by d.due_at, d.email_id, d.position
            ${most}
            for update skip locked
          ) ${category}`;

const FILTER = { blocked: '$5', restricted: '$10', proven: '$11' };

const TEXT = `
  with shares as materialized (
    select s.organization_id, s.share, s.cursor
    from unnest($2::uuid[], $3::int[], $4::text[]) as s (organization_id, share, cursor)
    where exists (select 1 from worker_sessions where id = $1 and lease_until > now())
  ), pairs as materialized (
    select
      s.organization_id,
      s.share,
      pair.destination,
      row_number() over (partition by s.organization_id) as rank,
      count(*) over (partition by s.organization_id) as siblings
    from shares s
    cross join lateral (
      (${destinationsOf('s.organization_id', FILTER, 'and d.destination > s.cursor')}
      )
      union all
      (${destinationsOf('s.organization_id', FILTER)} and destination <= s.cursor
      )
      limit least(32, s.share)
    ) pair
  ), quotas as materialized (
    select p.organization_id, p.destination, q.most, floor(q.most / 10.0 + $9::float8)::int as reserved
    from pairs p
    cross join lateral (
      select least(
        p.share / p.siblings + (p.rank <= p.share % p.siblings)::int,
        coalesce(($7::jsonb ->> p.destination)::int, $8::int)
      ) as most
    ) q
  ), due as materialized (
    -- Counting them reads all before the first is changed: one that has been changed is passed over, and would shift the offset.
    select next.*, count(*) over () as size
    from quotas p
    cross join lateral (
      select * from (${oldest('bulk', 'limit p.reserved')}
          union all${oldest('transactional', 'limit p.most')}
          union all${oldest('bulk', 'limit p.most offset p.reserved')}
      ) by_category
      limit p.most
    ) next
  )
  update deliveries d
  set state = 'claimed', session_id = $1, claim_token = d.claim_token + 1, attempt = d.attempt + 1, claimed_at = $6
  from due
  where d.organization_id = due.organization_id and d.mode = due.mode
    and d.email_id = due.email_id and d.position = due.position
  returning ${CLAIMED_COLUMNS}`;

const UNBOUNDED = 1_000_000;

/** The maximum of rows for known destinations, and for any other. */
export interface DestinationLimits {
  /** Without a bound when undefined. */
  readonly fresh: number | undefined;
  readonly known: readonly DestinationLimit[];
  readonly provenOnly?: ProvenOnly;
  /** Organizations that get nothing, as they hold their share of the worker. */
  readonly full?: readonly string[];
}

/** What one organization may have of a claim. */
export interface TenantShare {
  readonly organizationId: string;
  /** Deliveries. */
  readonly share: number;
  /** Destinations after this one come first, so that those late in the alphabet have their turn too. */
  readonly cursor: string;
}

export interface ClaimInput {
  readonly sessionId: string;
  readonly shares: readonly TenantShare[];
  readonly blockedDestinations: readonly string[];
  /** How much to take for each destination; without bounds when absent. */
  readonly destinationLimits?: DestinationLimits | undefined;
  /** From 0 to 1: rounds the tenth that is bulk's up or down. Random, a tenth is kept in small claims too. */
  readonly bulkRounding: number;
  readonly now: Date;
}

/**
 * Claims ready deliveries for a session: an attempt is counted, and the claim token fences results of an earlier claim.
 */
export function claimDeliveries(input: ClaimInput): Statement<ClaimedDelivery> {
  const { sessionId, shares, blockedDestinations, destinationLimits, bulkRounding, now } = input;
  return {
    name: 'claim-deliveries',
    text: TEXT,
    // Planned for its values, each claim took 1.8 ms before it began.
    isPlannedOnce: true,
    values: [
      sessionId,
      shares.map(({ organizationId }) => organizationId),
      shares.map(({ share }) => share),
      shares.map(({ cursor }) => cursor),
      blockedColumn(blockedDestinations),
      now,
      ...limitColumns(destinationLimits),
      bulkRounding,
      ...provenOnlyColumns(destinationLimits?.provenOnly),
    ],
  };
}

function limitColumns(limits: DestinationLimits | undefined): unknown[] {
  const { known = [], fresh = UNBOUNDED } = limits ?? {};
  return [destinationsColumn(known), fresh];
}
