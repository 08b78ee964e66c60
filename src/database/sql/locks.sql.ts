import type { Statement } from '../statement';

// The leases of background jobs that two processes must not run at a time.
// Writes: job_leases (primary key). Locks: one row. Rows: one.
// Not the ORM: taken by one conditional insert, and by the database's clock.
const TAKE = `
  insert into job_leases as held (job, holder, held_until)
  values ($1, $2, clock_timestamp() + $3 * interval '1 second')
  on conflict (job) do update
  set holder = excluded.holder, held_until = excluded.held_until
  where held.holder = excluded.holder or held.held_until < clock_timestamp()
  returning 1 as taken`;

const RELEASE = 'delete from job_leases where job = $1 and holder = $2';

/** Takes a free or expired lease, or renews the holder's own; no row while another holds it. */
export function takeJobLease(job: string, holder: string, leaseSeconds: number): Statement<{ taken: 1 }> {
  return { name: 'take-job-lease', text: TAKE, values: [job, holder, leaseSeconds] };
}

export function releaseJobLease(job: string, holder: string): Statement<never> {
  return { name: 'release-job-lease', text: RELEASE, values: [job, holder] };
}

// Makes additions to a list follow one another, so that their number can be limited.
// Takes no table: an advisory lock until the end of the transaction. Lists whose hashes meet merely wait for each other. Rows: 1.
// Not the ORM: it has no advisory locks, and row locks cannot hold back a first entry.
const LOCK = 'select pg_advisory_xact_lock(hashtextextended($1, 0))';

/** @param list what it holds, and of whom: `domains of …`; processes of all releases have to name it alike */
export function lockList(list: string): Statement<unknown> {
  return { name: 'lock-list', text: LOCK, values: [list] };
}
