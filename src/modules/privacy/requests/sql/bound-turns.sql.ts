import type { Statement } from '../../../../database/statements/statement';

// Requests whose turn would come later than any lease, or any pause, puts it: the database's clock has been set back since. They would wait
// until that time comes again, and so would the other requests of an organization behind a lease. One without a worker is due at once; a
// lease lasts as long as one that is taken now, so that a worker that still has it goes on.
// Reads and writes: privacy_requests, all open ones. Locks: the changed rows, skip locked. Rows: none unless the clock was set back.
// Without organization: a background job of the whole installation.
// Not the ORM: SKIP LOCKED inside an update.
const BOUND = `
  with ahead as materialized (
    select organization_id, mode, id from privacy_requests
    where status in ('pending', 'processing') and coalesce(lease_until, requested_at)
      > $1::timestamptz + case when lease_token is null then interval '15 minutes' else interval '1 minute' end
    order by organization_id, mode, id
    for update skip locked
  )
  update privacy_requests r
  set lease_until = $1::timestamptz + case when lease_token is null then interval '0' else interval '30 seconds' end
  from ahead a
  where r.organization_id = a.organization_id and r.mode = a.mode and r.id = a.id`;

/** Ends what a clock set back has prolonged. A lease lasts 30 s, a pause 11 minutes at most (`PrivacyWork`). */
export function boundTurns(now: Date): Statement<never> {
  return { name: 'bound-privacy-turns', text: BOUND, values: [now] };
}
