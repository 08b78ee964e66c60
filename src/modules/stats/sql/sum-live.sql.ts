// Sums the counters of domains' live mail, each since a moment of its own.
// Reads: stats_hourly (primary key) and stats_deltas (stats_deltas_organization), in one snapshot, so that what is being
// folded counts once. Locks: none. Rows: one per domain; up to 720 hours of each.
// Not the ORM: a lateral sum over two tables for many domains at a time.
import type { Statement } from '../../../database/statement';

export interface DomainWindow {
  readonly organizationId: string;
  readonly domainId: string;
  /** Hours that began then or later count. */
  readonly since: Date;
}

export interface LiveSums {
  /** Recipients, as are the others. */
  readonly accepted: number;
  readonly delivered: number;
  readonly bounced: number;
  readonly complaints: number;
}

const TEXT = `
  select w.domain_id as "domainId",
    coalesce(sum(c.accepted), 0)::double precision as accepted,
    coalesce(sum(c.delivered), 0)::double precision as delivered,
    coalesce(sum(c.bounced), 0)::double precision as bounced,
    coalesce(sum(c.complaints), 0)::double precision as complaints
  from unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) as w (organization_id, domain_id, since)
  cross join lateral (
    select accepted, delivered, bounced, complaints from stats_hourly s
    where s.organization_id = w.organization_id and s.mode = 'live' and s.domain_id = w.domain_id and s.hour >= w.since
    union all
    select accepted, delivered, bounced, complaints from stats_deltas s
    where s.organization_id = w.organization_id and s.mode = 'live' and s.domain_id = w.domain_id and s.hour >= w.since
  ) c
  group by w.domain_id`;

/** @param windows holds each domain once; one without mail has no row */
export function sumLive(windows: readonly DomainWindow[]): Statement<LiveSums & { domainId: string }> {
  return {
    name: 'sum-live',
    text: TEXT,
    values: [
      windows.map((window) => window.organizationId),
      windows.map((window) => window.domainId),
      windows.map((window) => window.since),
    ],
  };
}
