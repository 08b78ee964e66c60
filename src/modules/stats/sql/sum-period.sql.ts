import type { Tenant } from '../../../common/tenant';
import type { Statement } from '../../../database/statements/statement';
import { type Counter, COUNTERS, type Period, PROVIDER_COUNTERS } from '../stat-delta';

// Sums the counters of a period: in total, by domain, by hour, or by both.
// Reads: stats_hourly (primary key with a domain, else index stats_hourly_by_hour) and stats_deltas (the same two ways), in
// one snapshot, so that what is being folded counts once. Locks: none. Rows: 24 a day and domain; no event is read.
// The mode is a scalar subquery: as a plain parameter the planner may choose stats_hourly_live, which reads the hours of all tenants.
// Sums are double precision, exact up to 2^53, here and below: sums of bigint are numeric and take twice as long.
// Not the ORM: sums over two tables.
export type Sums = Record<Counter, number>;

/** Of a list. */
export type Part = Readonly<Record<'skip' | 'take', number>>;

interface Shape {
  readonly name: string;
  /** Columns to group by, with the names of the result. */
  readonly by: Readonly<Record<string, string>>;
}

const IN_ALL: Shape = { name: 'sum-period', by: {} };
const BY_DOMAIN: Shape = { name: 'sum-by-domain', by: { domain_id: 'domainId' } };
const BY_HOUR: Shape = { name: 'sum-by-hour', by: { hour: 'hour' } };
const BY_BOTH: Shape = { name: 'sum-by-domain-and-hour', by: { domain_id: 'domainId', hour: 'hour' } };

/** Returns one row, with zeros when there was no mail. @param period whole hours, as in the other functions */
export function sumPeriod(scope: Tenant, period: Period): Statement<Sums> {
  return sums(IN_ALL, scope, period);
}

/** Returns one row for each domain with counters in the period, the largest first. */
export function sumByDomain(scope: Tenant, period: Period, part: Part): Statement<Sums & { domainId: string }> {
  const { name, text, values } = sums(BY_DOMAIN, scope, period);
  const ordered = `order by accepted desc, domain_id limit $${values.length + 1} offset $${values.length + 2}`;
  return { name, text: `${text} ${ordered}`, values: [...values, part.take, part.skip] };
}

/** Returns one row for each hour with counters, in no order; hours without mail are missing. */
export function sumByHour(scope: Tenant, period: Period): Statement<Sums & { hour: Date }> {
  return sums(BY_HOUR, scope, period);
}

/** Returns one row for each domain and hour with counters: the shape of a privacy export. */
export function sumByBoth(scope: Tenant, period: Period): Statement<Sums & { domainId: string; hour: Date }> {
  return sums(BY_BOTH, scope, period);
}

function sums<Row>({ name, by }: Shape, scope: Tenant, { from, to }: Period): Statement<Row> {
  const { organizationId, mode, domainId } = scope;
  const values = [organizationId, mode, from, to];
  return domainId === undefined
    ? { name, text: textOf(by, ''), values }
    : { name: `${name}-of-domain`, text: textOf(by, 'and domain_id = $5'), values: [...values, domainId] };
}

function textOf(by: Shape['by'], ofDomain: string): string {
  const keys = Object.keys(by);
  const selected = [
    ...keys.map((column) => `${column} as "${by[column]}"`),
    ...COUNTERS.map((counter) => `coalesce(sum(${counter}::double precision), 0) as ${counter}`),
  ];
  const hours = (table: string) => `
    select ${[...keys, ...COUNTERS].join(', ')} from ${table}
    where organization_id = $1 and mode = (select $2::text) and hour >= $3 and hour < $4 ${ofDomain}`;
  return `
  select ${selected.join(', ')}
  from (${hours('stats_hourly')}
    union all ${hours('stats_deltas')}
  ) counted
  ${keys.length > 0 ? `group by ${keys.join(', ')}` : ''}`;
}

// Sums the results of mail in a period by the group of receivers.
// Reads: stats_providers (primary key with a domain, else index stats_providers_by_hour) and stats_deltas (as in sum-period), in
// one snapshot, so that what is being folded counts once. Locks: none. Rows: 24 a day, domain and group; no event is read.
// Not the ORM: a sum over two tables.
export interface ProviderSums {
  readonly provider: string;
  /** Recipients that the receivers accepted, including the delivered ones. */
  readonly accepted: number;
  readonly delivered: number;
  /** Attempts. */
  readonly deferred: number;
  readonly bounced: number;
  /** Bounces unrelated to the sender. */
  readonly excused: number;
  readonly complaints: number;
}

const SUMS = ['accepted', 'delivered', 'deferred', 'bounced', 'excused', 'complaints'];
const APPENDED = PROVIDER_COUNTERS.map((_, place) => `(counts ->> ${place})::int`);

/** @param period whole hours */
export function sumByProvider(scope: Tenant, { from, to }: Period): Statement<ProviderSums> {
  const { organizationId, mode, domainId } = scope;
  const values = [organizationId, mode, from, to];
  return domainId === undefined
    ? { name: 'sum-by-provider', text: textByProvider(''), values }
    : { name: 'sum-by-provider-of-domain', text: textByProvider('and domain_id = $5'), values: [...values, domainId] };
}

function textByProvider(ofDomain: string): string {
  const ofPeriod = `where organization_id = $1 and mode = (select $2::text) and hour >= $3 and hour < $4 ${ofDomain}`;
  return `
  select provider, ${SUMS.map((sum) => `sum(${sum}::double precision) as ${sum}`).join(', ')}
  from (
    select provider, ${SUMS.join(', ')} from stats_providers ${ofPeriod}
    union all
    select provider, ${APPENDED.join(', ')}
    from stats_deltas cross join lateral jsonb_each(by_provider) as p (provider, counts)
    ${ofPeriod} and by_provider is not null
  ) counted
  group by provider`;
}

// Sums accepted emails per hour, newest first: how many there are, and which hours hold a page of their list.
// Reads: stats_hourly (primary key; index stats_hourly_by_hour without a domain) and stats_deltas
// (stats_deltas_organization), in one snapshot. Locks: none. Rows: at most 24 a day and domain of the range.
// The mode is a scalar subquery, as in sum-period. Not the ORM: a running sum over two tables.
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
  select coalesce(sum(emails::double precision), 0) as emails from (${HOURS(domain)}) hours`;

/** Returns one row: the number of emails accepted in the range. */
export function countEmails(range: CountRange): Statement<{ emails: number }> {
  return range.domainId === undefined
    ? { name: 'count-emails', text: count(''), values: valuesOf(range) }
    : { name: 'count-emails-of-domain', text: count(OF_DOMAIN), values: [...valuesOf(range), range.domainId] };
}

/** An hour with emails, and the number of newer emails in the range. */
export interface CountedHour {
  readonly hour: Date;
  readonly emails: number;
  readonly newer: number;
}

const locate = (domain: string, [skip, take]: readonly [string, string]) => `
  select hour, emails, newer
  from (
    select hour, emails, sum(emails) over (order by hour desc rows unbounded preceding) - emails as newer
    from (select hour, sum(emails::double precision) as emails from (${HOURS(domain)}) hours group by hour) summed
  ) counted
  where newer + emails > ${skip}::double precision and newer < ${skip}::double precision + ${take}::double precision
  order by hour desc`;

/** The hours that hold `limit` emails after the first `offset` ones of the range, newest first. */
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
  // Not coalesce() in the statement: it is not leakproof, so row-level security would keep it from using the index.
  return [organizationId, mode, from ?? '-infinity', to ?? 'infinity'];
}
