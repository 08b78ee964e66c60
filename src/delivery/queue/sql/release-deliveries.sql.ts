// Gives back claims whose attempt has not begun; it is not charged.
// Writes: deliveries (primary key). Locks: rows in primary-key order. Rows: what a stopping worker had not started.
// Not the ORM: fencing by token for a whole batch.
import type { Statement } from '../../../database/statement';
import type { ClaimedDelivery } from '../../ports/delivery';

const TEXT = `
  with given as (
    select * from unnest($1::uuid[], $2::text[], $3::uuid[], $4::smallint[], $5::int[])
      as g (organization_id, mode, email_id, position, claim_token)
  ), locked as materialized (
    select d.organization_id, d.mode, d.email_id, d.position, d.state, d.claim_token = g.claim_token as is_newest
    from deliveries d
    join given g using (organization_id, mode, email_id, position)
    order by d.organization_id, d.mode, d.email_id, d.position
    for update of d
  ), held as materialized (
    select * from locked where state = 'claimed' and is_newest
  )
  update deliveries d
  set state = 'ready', session_id = null, attempt = d.attempt - 1
  from held h
  where d.organization_id = h.organization_id and d.mode = h.mode and d.email_id = h.email_id and d.position = h.position`;

export function releaseDeliveries(claims: readonly ClaimedDelivery[]): Statement<never> {
  return {
    name: 'release-deliveries',
    text: TEXT,
    values: [
      claims.map((claim) => claim.organizationId),
      claims.map((claim) => claim.mode),
      claims.map((claim) => claim.emailId),
      claims.map((claim) => claim.position),
      claims.map((claim) => claim.claimToken),
    ],
  };
}
