// Sums of domains' live mail, for the evaluation of their sending.
import { NIL_ID } from '../../../common/ids';
import type { Statement } from '../../../database/statements/statement';

export interface DomainWindow {
  readonly organizationId: string;
  readonly domainId: string;
  /** Only hours that began at this time or later count. */
  readonly since: Date;
}

export interface LiveSums {
  /** Recipients; so are the other counts. */
  readonly accepted: number;
  readonly delivered: number;
  /** Those that count against the sender. */
  readonly bounced: number;
  readonly complaints: number;
}

// Sums the counters of domains' live mail, each domain since a time of its own.
// Reads: stats_hourly (primary key) and stats_deltas (stats_deltas_organization), in one snapshot, so that what is being
// folded counts once. Locks: none. Rows: one per domain; up to 720 hours of each.
// Not the ORM: a lateral sum over two tables for many domains at a time.
const SUM_LIVE = `
  select w.domain_id as "domainId",
    coalesce(sum(c.accepted), 0)::double precision as accepted,
    coalesce(sum(c.delivered), 0)::double precision as delivered,
    coalesce(sum(c.bounced - c.excused), 0)::double precision as bounced,
    coalesce(sum(c.complaints), 0)::double precision as complaints
  from unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) as w (organization_id, domain_id, since)
  cross join lateral (
    select accepted, delivered, bounced, excused, complaints from stats_hourly s
    where s.organization_id = w.organization_id and s.mode = 'live' and s.domain_id = w.domain_id and s.hour >= w.since
    union all
    select accepted, delivered, bounced, excused, complaints from stats_deltas s
    where s.organization_id = w.organization_id and s.mode = 'live' and s.domain_id = w.domain_id and s.hour >= w.since
  ) c
  group by w.domain_id`;

/** Returns a row for each domain with mail. @param windows holds each domain once */
export function sumLive(windows: readonly DomainWindow[]): Statement<LiveSums & { domainId: string }> {
  return {
    name: 'sum-live',
    text: SUM_LIVE,
    values: [
      windows.map((window) => window.organizationId),
      windows.map((window) => window.domainId),
      windows.map((window) => window.since),
    ],
  };
}

// Counts the recipients of organizations' live mail since the beginning of a month, and of a day in it.
// Reads: stats_hourly (primary key) and stats_deltas (stats_deltas_organization), in one snapshot. Locks: none.
// Rows: one per organization; up to 744 hours of each of its domains.
// Not the ORM: sums over two tables for many organizations at a time.
export interface RecipientUsage {
  organizationId: string;
  today: number;
  month: number;
}

const SUM_RECIPIENTS = `
  select o.organization_id as "organizationId",
    coalesce(sum(c.accepted) filter (where c.hour >= $3), 0)::float8 as today,
    coalesce(sum(c.accepted), 0)::float8 as month
  from unnest($1::uuid[]) as o (organization_id)
  left join lateral (
    select s.hour, s.accepted from stats_hourly s
    where s.organization_id = o.organization_id and s.mode = 'live' and s.hour >= $2
    union all
    select s.hour, s.accepted from stats_deltas s
    where s.organization_id = o.organization_id and s.mode = 'live' and s.hour >= $2
  ) c on true
  group by o.organization_id`;

/** @param organizationIds each once */
export function sumRecipients(organizationIds: readonly string[], month: Date, today: Date): Statement<RecipientUsage> {
  return { name: 'sum-recipients', text: SUM_RECIPIENTS, values: [organizationIds, month, today] };
}

export interface DomainOwner {
  readonly organizationId: string;
  readonly domainId: string;
}

/** Limits above which a domain is reported. */
export interface RateLimits {
  /** Domains with fewer are left out. */
  readonly minRecipients: number;
  /** Per thousand recipients. */
  readonly perMille: { readonly bounces: number; readonly complaints: number };
}

// Finds domains whose live mail has more bounces or complaints than allowed, in key order. Bounces unrelated to the sender
// are left out.
// Reads: stats_hourly (index stats_hourly_live) and stats_deltas (folded within seconds, so read as a whole), in one
// snapshot, so that what is being folded counts once. Locks: none. Rows: 24 hours of every domain that has sent, into
// the few that are above the limits.
// Over all organizations: for a background job. Not the ORM: a sum over two tables.
const FIND_DOMAINS_ABOVE = `
  select organization_id as "organizationId", domain_id as "domainId"
  from (
    select organization_id, domain_id, accepted, bounced - excused as bounced, complaints
    from stats_hourly where mode = 'live' and hour >= $1
    union all
    select organization_id, domain_id, accepted, bounced - excused as bounced, complaints
    from stats_deltas where mode = 'live' and hour >= $1
  ) c
  where (organization_id, domain_id) > ($5, $6)
  group by organization_id, domain_id
  having sum(accepted) >= $2
    and (sum(bounced) * 1000 > sum(accepted) * $3::int or sum(complaints) * 1000 > sum(accepted) * $4::int)
  order by organization_id, domain_id
  limit $7`;

/** @param since only hours that began at this time or later count */
export function findDomainsAbove(
  { minRecipients, perMille }: RateLimits,
  since: Date,
  after: DomainOwner | undefined,
  limit: number,
): Statement<DomainOwner> {
  const { organizationId = NIL_ID, domainId = NIL_ID } = after ?? {};
  return {
    name: 'find-domains-above',
    text: FIND_DOMAINS_ABOVE,
    values: [since, minRecipients, perMille.bounces, perMille.complaints, organizationId, domainId, limit],
  };
}
