// Which routes take the mail of a recipient, and which domain a route belongs to.
import type { Statement } from '../../../database/statement';
import type { RouteMatch } from '../inbound-email';

// The routes of a recipient, of each organization one: an exact one goes before a wildcard. Only while their domain is
// verified. Also whether anyone has such a host at all: mail to it is refused in other words.
// Reads: inbound_routes (index inbound_routes_address), domains (primary key). Locks: none. Rows: nearly always 0 or 1.
// Not the ORM: one row of each organization.
const FIND = `
  select distinct on (r.organization_id)
    r.organization_id as "organizationId", r.id as "routeId", r.domain_id as "domainId", r.webhook_id as "webhookId"
  from inbound_routes r
  join domains d on d.organization_id = r.organization_id and d.id = r.domain_id and d.verification_status = 'verified'
  where r.address in ($1, $2)
  order by r.organization_id, (r.address = $1) desc`;

export function findRoutes(exact: string, wildcard: string): Statement<RouteMatch> {
  return { name: 'find-inbound-routes', text: FIND, values: [exact, wildcard] };
}

// Whether a host is at or below a verified domain of anyone.
// Reads: domains (by name). Locks: none. Rows: 1.
// Not the ORM: an existence check over several names.
const IS_HOSTED = `
  select exists (select from domains where domain = any($1::text[]) and verification_status = 'verified') as "isHosted"`;

export function isHosted(names: readonly string[]): Statement<{ isHosted: boolean }> {
  return { name: 'is-inbound-host', text: IS_HOSTED, values: [names] };
}

// The nearest of these names that is a verified domain of the organization.
// Reads: domains (of one organization). Locks: none. Rows: 0 or 1.
// Not the ORM: the longest of several names.
const NEAREST_DOMAIN = `
  select id
  from domains
  where organization_id = $1 and domain = any($2::text[]) and verification_status = 'verified'
  order by length(domain) desc
  limit 1`;

export function findNearestDomain(organizationId: string, names: readonly string[]): Statement<{ id: string }> {
  return { name: 'find-inbound-domain', text: NEAREST_DOMAIN, values: [organizationId, names] };
}

// Whether the organization has this live webhook.
// Reads: webhook_endpoints (primary key). Locks: none. Rows: 1. Not the ORM: another room's table.
const HAS_WEBHOOK = `
  select exists (
    select from webhook_endpoints where organization_id = $1 and mode = 'live' and id = $2
  ) as "hasWebhook"`;

export function hasWebhook(organizationId: string, id: string): Statement<{ hasWebhook: boolean }> {
  return { name: 'has-inbound-webhook', text: HAS_WEBHOOK, values: [organizationId, id] };
}

// Whether an email of the organization has this id, which our Message-IDs carry.
// Reads: emails (primary key). Locks: none. Rows: 1. Not the ORM: another room's table.
const IS_OWN_EMAIL = `
  select exists (select from emails where organization_id = $1 and mode = 'live' and id = $2) as "isOwn"`;

export function isOwnEmail(organizationId: string, id: string): Statement<{ isOwn: boolean }> {
  return { name: 'is-own-inbound-email', text: IS_OWN_EMAIL, values: [organizationId, id] };
}
