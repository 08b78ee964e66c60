import type { Statement } from '../../../../database/statements/statement';

// Statements of background jobs on the table `domains`, over all organizations.
export interface RestrictedCounts {
  slowed: number;
  paused: number;
}

// Counts the slowed and the paused domains.
// Reads: domains (index domains_restricted). Locks: none. Rows: one.
// Over all organizations: for the operator's metrics and `waybill doctor`. Not the ORM: two counts in one statement.
const COUNT_RESTRICTED = `
  select
    count(*) filter (where sending_status = 'slowed')::int as slowed,
    count(*) filter (where sending_status = 'paused')::int as paused
  from domains
  where sending_status <> 'active'`;

/** Returns one row. */
export function countRestricted(): Statement<RestrictedCounts> {
  return { name: 'count-restricted', text: COUNT_RESTRICTED, values: [] };
}

export interface DomainScore {
  readonly organizationId: string;
  readonly domainId: string;
  /** 0 to 100 */
  readonly score: number;
}

// Writes the reputation scores of domains, only where they change.
// Writes: domains (primary key). Locks: the changed rows, in key order. Rows: up to 500, mostly none.
// Not the ORM: one statement instead of one per domain.
const WRITE_SCORES = `
  with changed as (
    select d.organization_id, d.id, s.score
    from unnest($1::uuid[], $2::uuid[], $3::smallint[]) as s (organization_id, domain_id, score)
    join domains d on d.organization_id = s.organization_id and d.id = s.domain_id
    where d.reputation_score is distinct from s.score
    order by d.organization_id, d.id
    for no key update of d
  )
  update domains d
  set reputation_score = c.score
  from changed c
  where d.organization_id = c.organization_id and d.id = c.id
  returning d.id`;

/** Returns one row for each domain whose score has changed. */
export function writeScores(scores: readonly DomainScore[]): Statement<{ id: string }> {
  return {
    name: 'write-scores',
    text: WRITE_SCORES,
    values: [
      scores.map((entry) => entry.organizationId),
      scores.map((entry) => entry.domainId),
      scores.map((entry) => entry.score),
    ],
  };
}

// After a reservation of recipients: the first send is recorded, and unused recipients are returned.
export interface UnusedReservation {
  readonly organizationId: string;
  readonly domainId: string;
  /** The UTC date for which it was made. */
  readonly day: string;
  readonly recipients: number;
}

// Returns reserved recipients that were not used, because of replays, refusals or failed transactions.
// Writes: warm_up_usage (primary key). Locks: its rows in key order. Rows: few; most batches use what they reserve.
// Asynchronous commit, as for the reservation: losing it costs a domain some recipients of one day.
// Not the ORM: one statement for several rows.
const RETURN_RECIPIENTS = `
  with relaxed as materialized (
    select set_config('synchronous_commit', 'off', true)
  ), unused as (
    select organization_id, domain_id, day, sum(recipients)::int as recipients
    from unnest($1::uuid[], $2::uuid[], $3::date[], $4::int[]) as r (organization_id, domain_id, day, recipients)
    cross join relaxed
    group by organization_id, domain_id, day
  ), locked as (
    select u.organization_id, u.domain_id, u.day, n.recipients
    from warm_up_usage u
    join unused n using (organization_id, domain_id, day)
    order by u.organization_id, u.domain_id, u.day
    for update of u
  )
  update warm_up_usage u
  set recipients = greatest(0, u.recipients - l.recipients)
  from locked l
  where u.organization_id = l.organization_id and u.domain_id = l.domain_id and u.day = l.day`;

/** @param unused several entries of a domain and day are summed; the usage never falls below 0 */
export function returnRecipients(unused: readonly UnusedReservation[]): Statement<never> {
  return {
    name: 'return-recipients',
    text: RETURN_RECIPIENTS,
    values: [
      unused.map((entry) => entry.organizationId),
      unused.map((entry) => entry.domainId),
      unused.map((entry) => entry.day),
      unused.map((entry) => entry.recipients),
    ],
  };
}

// Records the first live send of domains, in the transaction that accepts it.
// Writes: domains (primary key). Locks: the rows of domains that have not started, in key order: once in a domain's life.
// Rows: few. Not the ORM: it runs inside the accept transaction, as a write that no caller waits for.
const START_WARM_UP = `
  with starting as (
    select d.organization_id, d.id
    from unnest($1::uuid[], $2::uuid[]) as s (organization_id, domain_id)
    join domains d on d.organization_id = s.organization_id and d.id = s.domain_id
    where d.warming_status = 'not_started'
    order by d.organization_id, d.id
    for no key update of d
  )
  update domains d
  set warming_status = 'warming', warming_started_at = $3, updated_at = $3
  from starting s
  where d.organization_id = s.organization_id and d.id = s.id`;

/** Changes only domains whose warm-up has not started. @param now becomes the start of day 1 */
export function startWarmUp(
  domains: readonly { organizationId: string; domainId: string }[],
  now: Date,
): Statement<never> {
  return {
    name: 'start-warm-up',
    text: START_WARM_UP,
    values: [domains.map((domain) => domain.organizationId), domains.map((domain) => domain.domainId), now],
  };
}
