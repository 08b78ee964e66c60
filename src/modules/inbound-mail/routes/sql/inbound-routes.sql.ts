// Which routes take the mail of a recipient, and which domain a route belongs to.
import type { Statement } from '../../../../database/statements/statement';
import type { RouteMatch } from '../../emails/inbound-email';
import type { RouteKeys } from '../route-address';

// The routes of a recipient, of each organization one: an exact one goes before a wildcard. Only while the host, or a name
// above it, is a verified domain of the organization; the nearest one is the mail's. A webhook that has been deleted is none.
// Reads: inbound_routes (index inbound_routes_address), domains (by name), webhook_endpoints (primary key). Locks: none. Rows: nearly always 0 or 1.
// Not the ORM: one row of each organization.
const FIND = `
  select distinct on (r.organization_id)
    r.organization_id as "organizationId", r.id as "routeId", d.id as "domainId", w.id as "webhookId"
  from inbound_routes r
  join domains d
    on d.organization_id = r.organization_id and d.domain = any($3::text[]) and d.verification_status = 'verified'
  left join webhook_endpoints w on w.organization_id = r.organization_id and w.mode = 'live' and w.id = r.webhook_id
  where r.address = any($1::text[]) or r.address = $2
  order by r.organization_id, (r.address = any($1::text[])) desc, (r.address = $4) desc, length(d.domain) desc`;

/** Where earlier releases took two spellings of one person, each route keeps the mail to its own. */
export function findRoutes({ own, exact, wildcard, names }: RouteKeys): Statement<RouteMatch> {
  return { name: 'find-inbound-routes', text: FIND, values: [exact, wildcard, names, own] };
}

// Whether a host is at or below a verified domain of any organization.
// Reads: domains (by name). Locks: none. Rows: 1.
// Not the ORM: an existence check over several names.
const IS_HOSTED = `
  select exists (select from domains where domain = any($1::text[]) and verification_status = 'verified') as "isHosted"`;

export function isHosted(names: readonly string[]): Statement<{ isHosted: boolean }> {
  return { name: 'is-inbound-host', text: IS_HOSTED, values: [names] };
}

// Whether the host has a route, in the verified domain of its organization.
// Reads: inbound_routes (index inbound_routes_address), domains (by name). Locks: none. Rows: 1.
// Not the ORM: an existence check; an index on addresses finds no hosts, so the routes of the domains' organizations are read.
const HAS_ROUTE = `
  select exists (
    select from domains d
    join inbound_routes r on r.organization_id = d.organization_id
    where d.domain = any($2::text[]) and d.verification_status = 'verified' and split_part(r.address, '@', 2) = $1
  ) as "hasRoute"`;

/** @param names the host and those above it */
export function hasRoute(host: string, names: readonly string[]): Statement<{ hasRoute: boolean }> {
  return { name: 'has-inbound-route', text: HAS_ROUTE, values: [host, names] };
}

// The verified domain of the organization at each of these hosts, or the nearest one above it; hosts without one are left out.
// Reads: domains (of one organization, by name). Locks: none. Rows: one for each host.
// Not the ORM: the longest of several names, for many hosts at once.
const DOMAINS_OF = `
  select distinct on (h.host) h.host, d.id as "domainId"
  from unnest($2::text[]) as h (host)
  cross join lateral (
    select array_to_string(labels[n:], '.') as name
    from string_to_array(h.host, '.') as labels, generate_subscripts(labels, 1) as n
  ) above
  join domains d on d.organization_id = $1 and d.domain = above.name and d.verification_status = 'verified'
  order by h.host, length(d.domain) desc`;

export function findDomainsOf(
  organizationId: string,
  hosts: readonly string[],
): Statement<{ host: string; domainId: string }> {
  return { name: 'find-inbound-domains', text: DOMAINS_OF, values: [organizationId, hosts] };
}

// Of some webhooks, the live ones that the organization has.
// Reads: webhook_endpoints (primary key). Locks: none. Rows: one for each. Not the ORM: another module's table.
const FIND_WEBHOOKS = `
  select id from webhook_endpoints where organization_id = $1 and mode = 'live' and id = any($2::uuid[])`;

export function findWebhooks(organizationId: string, ids: readonly string[]): Statement<{ id: string }> {
  return { name: 'find-inbound-webhooks', text: FIND_WEBHOOKS, values: [organizationId, ids] };
}

// Whether an email of the organization has this id, which our Message-IDs carry.
// Reads: emails (primary key). Locks: none. Rows: 0 or 1. Not the ORM: another module's table.
const IS_OWN_EMAIL = `
  select 1 as found from emails where organization_id = $1 and mode = 'live' and id = $2`;

export function isOwnEmail(organizationId: string, id: string): Statement<{ found: 1 }> {
  return { name: 'is-own-inbound-email', text: IS_OWN_EMAIL, values: [organizationId, id] };
}
