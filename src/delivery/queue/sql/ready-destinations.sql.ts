import type { Statement } from '../../../database/statements/statement';

// The destinations of organizations that have ready work, of each from its cursor on and then from the start. A part of it is shared
// with the walk round the organizations.
// Reads: deliveries (index deliveries_ready (organization_id, destination, …), by loose index scans: one look-up for each
// destination, whatever the depth of the queue). Locks: none. Rows: up to the sum of the widths.
// Not the ORM: recursive look-ups.
/** Organizations that get nothing but mail for these destinations. */
export interface ProvenOnly {
  readonly organizationIds: readonly string[];
  readonly destinations: readonly string[];
}

/** What is left out; a list of a bounded length, as it is sent with each statement. */
export interface ReadyFilter {
  readonly blocked: readonly string[];
  readonly provenOnly?: ProvenOnly | undefined;
}

/** The values of the parameters `blocked`, `restricted` and `proven`. */
export function filterColumns({ blocked, provenOnly }: ReadyFilter): [string, readonly string[], readonly string[]] {
  return [blockedColumn(blocked), provenOnly?.organizationIds ?? [], provenOnly?.destinations ?? []];
}

/**
 * The value of the parameter `blocked`, an object: a key is found by binary search. An array is read through for each row, since the
 * plan is made without its values: 20,000 domains took 0.9 s of a claim (28 November 2026).
 */
export function blockedColumn(destinations: readonly string[]): string {
  return `{${destinations.map((destination) => `${JSON.stringify(destination)}:0`).join(',')}}`;
}

/** SQL: a destination is not blocked. @param column an expression @param blocked the parameter */
export function isNotBlocked(column: string, blocked: string): string {
  return `not (${blocked}::jsonb ? ${column})`;
}

/** Parameters: what is left out, for all or for some. */
export interface DestinationFilter {
  readonly blocked: string;
  readonly restricted: string;
  readonly proven: string;
}

/**
 * SQL: the destinations of one organization with ready work that are not blocked, each found by one look-up in the index
 * deliveries_ready, in order. For an organization limited to proven destinations only those are looked up: walking 40,000
 * made-up domains took two seconds, in which no mail was claimed.
 * @param tenant an expression: the organization's id
 * @param from the start of the walk
 */
export const destinationsOf = (
  tenant: string,
  { blocked, restricted, proven }: DestinationFilter,
  from = '',
): string => `
          with recursive destinations as (
            (
              select d.destination
              from deliveries d
              where d.state = 'ready'
                and d.organization_id = case when ${tenant} <> all(${restricted}::uuid[]) then ${tenant} end ${from}
              order by d.destination
              limit 1
            )
            union all
            select (
              select d.destination
              from deliveries d
              where d.state = 'ready' and d.organization_id = ${tenant} and d.destination > last.destination
              order by d.destination
              limit 1
            )
            from destinations last
            where last.destination is not null
          )
          select destination
          from (
            select destination
            from destinations
            where destination is not null
            union all
            select listed.destination
            from (
              select distinct destination
              from unnest(${proven}::text[]) as proven (destination)
              where ${tenant} = any(${restricted}::uuid[])
              order by destination
            ) listed
            where (
              select true
              from deliveries d
              where d.state = 'ready' and d.organization_id = ${tenant} and d.destination = listed.destination ${from}
              order by d.category, d.due_at
              limit 1
            )
          ) found
          where ${isNotBlocked('destination', blocked)}`;

const FILTER = { blocked: '$4', restricted: '$5', proven: '$6' };

const TEXT = `
  select s.organization_id as "organizationId", found.destination
  from unnest($1::uuid[], $2::text[], $3::int[]) as s (organization_id, cursor, width)
  cross join lateral (
    (${destinationsOf('s.organization_id', FILTER, 'and d.destination > s.cursor')}
    )
    union all
    (${destinationsOf('s.organization_id', FILTER)} and destination <= s.cursor
    )
    limit s.width
  ) found`;

/** Where to look among the destinations of one organization. */
export interface Window {
  readonly organizationId: string;
  /** Destinations after this one come first, so that those late in the alphabet have their turn too. */
  readonly cursor: string;
  /** How many to return. */
  readonly width: number;
}

export interface ReadyDestination {
  organizationId: string;
  destination: string;
}

/** Destinations with ready work, in the order in which each organization's are to be served. */
export function findReadyDestinations(windows: readonly Window[], filter: ReadyFilter): Statement<ReadyDestination> {
  return {
    name: 'find-ready-destinations',
    text: TEXT,
    // Planned for its values, each claim took 1.8 ms before it began.
    isPlannedOnce: true,
    values: [
      windows.map(({ organizationId }) => organizationId),
      windows.map(({ cursor }) => cursor),
      windows.map(({ width }) => width),
      ...filterColumns(filter),
    ],
  };
}
