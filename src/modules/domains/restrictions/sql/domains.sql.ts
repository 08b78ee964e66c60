// Statements of the background jobs on the table `domains`, of every organization.
import type { Statement } from '../../../../database/statement';

export interface RestrictedCounts {
  slowed: number;
  paused: number;
}

// How many domains are slowed and how many paused.
// Reads: domains (index domains_restricted). Locks: none. Rows: one.
// Of every organization: for the operator's metrics and doctor. Not the ORM: two counts in one look.
const COUNT_RESTRICTED = `
  select
    count(*) filter (where sending_status = 'slowed')::int as slowed,
    count(*) filter (where sending_status = 'paused')::int as paused
  from domains
  where sending_status <> 'active'`;

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
