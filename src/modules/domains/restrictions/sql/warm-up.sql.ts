// What follows a reservation of recipients: the first send is noted, and what was not used is returned.
import type { Statement } from '../../../../database/statement';

export interface UnusedReservation {
  readonly organizationId: string;
  readonly domainId: string;
  /** The UTC date for which it was made. */
  readonly day: string;
  readonly recipients: number;
}

// Gives back what was reserved and not used after all: replays, refusals, transactions that failed.
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

// Notes the first live send of domains, in the transaction that accepts it.
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
