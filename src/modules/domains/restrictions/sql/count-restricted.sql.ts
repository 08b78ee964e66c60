// How many domains are slowed and how many paused.
// Reads: domains (index domains_restricted). Locks: none. Rows: one.
// Of every organization: for the operator's metrics and doctor. Not the ORM: two counts in one look.
import type { Statement } from '../../../../database/statement';

export interface RestrictedCounts {
  slowed: number;
  paused: number;
}

const TEXT = `
  select
    count(*) filter (where sending_status = 'slowed')::int as slowed,
    count(*) filter (where sending_status = 'paused')::int as paused
  from domains
  where sending_status <> 'active'`;

export function countRestricted(): Statement<RestrictedCounts> {
  return { name: 'count-restricted', text: TEXT, values: [] };
}
