// Gives back what was reserved and not used after all: replays, refusals, transactions that failed.
// Writes: warm_up_usage (primary key). Locks: its rows in key order. Rows: few; most batches use what they reserve.
// Asynchronous commit, as for the reservation: losing it costs a domain some recipients of one day.
// Not the ORM: one statement for several rows.
import type { Statement } from '../../../../../database/statement';

export interface UnusedReservation {
  readonly organizationId: string;
  readonly domainId: string;
  /** The UTC date for which it was made. */
  readonly day: string;
  readonly recipients: number;
}

const TEXT = `
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
    text: TEXT,
    values: [
      unused.map((entry) => entry.organizationId),
      unused.map((entry) => entry.domainId),
      unused.map((entry) => entry.day),
      unused.map((entry) => entry.recipients),
    ],
  };
}
