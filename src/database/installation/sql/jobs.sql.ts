import type { WorkCondition } from '../../../common/jobs/periodic-jobs';
import type { Statement } from '../../statements/statement';

// The leases of background jobs that two processes must not run at a time.
// Writes: job_leases (primary key). Locks: one row. Rows: one.
// Not the ORM: taken by one conditional insert, and by the database's clock. When that has been set back, the lease of a process that
// was killed would last as much longer: one that ends later than a lease taken now lasts as long as that.
const TAKE = `
  insert into job_leases as held (job, holder, held_until)
  values ($1, $2, clock_timestamp() + $3 * interval '1 second')
  on conflict (job) do update
  set holder = case when held.held_until < clock_timestamp() then excluded.holder else held.holder end,
    held_until = excluded.held_until
  where held.holder = excluded.holder or held.held_until < clock_timestamp()
    or held.held_until > excluded.held_until + interval '1 second'
  returning holder = $2 as taken`;

const RELEASE = 'delete from job_leases where job = $1 and holder = $2';

/** Takes a free or expired lease, or renews the holder's own; no row, or false, while another holds it. */
export function takeJobLease(job: string, holder: string, leaseSeconds: number): Statement<{ taken: boolean }> {
  return { name: 'take-job-lease', text: TAKE, values: [job, holder, leaseSeconds] };
}

export function releaseJobLease(job: string, holder: string): Statement<never> {
  return { name: 'release-job-lease', text: RELEASE, values: [job, holder] };
}

// Which jobs have work to do: what each of them finds in its own tables, by its own condition.
// Reads: the jobs' tables, one look-up in an index for each condition that is due. Locks: none. Rows: up to one for each job.
// Without organization: background jobs of the whole installation.
// Not the ORM: it has no entity, and a round trip for each job would cost more than most of the conditions.
const workOf = (conditions: readonly WorkCondition[]): string =>
  conditions
    .map(({ name, hasWork }) => `select '${name}' as name where '${name}' = any($2::text[]) and (${hasWork})`)
    .join('\n  union all\n  ');

/**
 * A row for each condition that is true and due.
 * @param conditions the text is fixed once all jobs have started
 * @param due the names of those that are evaluated
 */
export function findWork(
  conditions: readonly WorkCondition[],
  due: readonly string[],
  now: Date,
): Statement<{ name: string }> {
  // The parameter needs a type also where no condition uses it.
  const text = `with present as (select $1::timestamptz)\n  ${workOf(conditions)}`;
  return { name: `find-work-${conditions.length}`, text, values: [now, due], isPlannedOnce: true };
}
