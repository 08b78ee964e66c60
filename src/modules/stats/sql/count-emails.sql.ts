// Accepted emails per hour, newest first, summed: how many there are, and in which hours a page of their list lies.
// Reads: stats_hourly (primary key; index stats_hourly_by_hour without a domain) and stats_deltas
// (stats_deltas_organization), in one snapshot. Locks: none. Rows: at most 24 a day and domain of the range.
// The mode comes from a query of its own, as in sum-period. Not the ORM: a running sum over two tables.
import type { Tenant } from '../../../common/tenant';
import type { Statement } from '../../../database/statement';

/** Whole hours: from inclusive, to exclusive. */
export interface CountRange extends Tenant {
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

const hoursOf = (table: string, domain: string) => `
    select hour, emails from ${table}
    where organization_id = $1 and mode = (select $2::text) ${domain} and emails > 0
      and hour >= $3 and hour < $4`;

const HOURS = (domain: string) => `${hoursOf('stats_hourly', domain)}
    union all ${hoursOf('stats_deltas', domain)}`;

const OF_DOMAIN = 'and domain_id = $5';

const count = (domain: string) => `
  select coalesce(sum(emails), 0)::double precision as emails from (${HOURS(domain)}) hours`;

export function countEmails(range: CountRange): Statement<{ emails: number }> {
  return range.domainId === undefined
    ? { name: 'count-emails', text: count(''), values: valuesOf(range) }
    : { name: 'count-emails-of-domain', text: count(OF_DOMAIN), values: [...valuesOf(range), range.domainId] };
}

/** An hour that has emails, and how many newer ones the range has. */
export interface CountedHour {
  readonly hour: Date;
  readonly emails: number;
  readonly newer: number;
}

const locate = (domain: string, [skip, take]: readonly [string, string]) => `
  select hour, emails, newer
  from (
    select
      hour,
      sum(emails)::double precision as emails,
      (sum(sum(emails)) over (order by hour desc) - sum(emails))::double precision as newer
    from (${HOURS(domain)}) hours
    group by hour
  ) counted
  where newer + emails > ${skip}::double precision and newer < ${skip}::double precision + ${take}::double precision
  order by hour desc`;

/** The hours in which `limit` emails lie after the first `offset` of the range, newest first. */
export function locateEmails(
  range: CountRange,
  { offset, limit }: { offset: number; limit: number },
): Statement<CountedHour> {
  const values = [...valuesOf(range), ...(range.domainId === undefined ? [] : [range.domainId]), offset, limit];
  return range.domainId === undefined
    ? { name: 'locate-emails', text: locate('', ['$5', '$6']), values }
    : { name: 'locate-emails-of-domain', text: locate(OF_DOMAIN, ['$6', '$7']), values };
}

function valuesOf({ organizationId, mode, from, to }: CountRange): unknown[] {
  // Not by coalesce() in the statement: a policy takes that for something that leaks, and closes the index to it.
  return [organizationId, mode, from ?? '-infinity', to ?? 'infinity'];
}
