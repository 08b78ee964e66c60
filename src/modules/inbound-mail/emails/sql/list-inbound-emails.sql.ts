// The ids of a page of inbound emails, newest first: of all of a tenant's, or of those that a search finds.
// Not the ORM: a search is bounded before it filters, whatever the planner knows.
import type { Tenant } from '../../../../common/tenant';
import type { Statement } from '../../../../database/statements/statement';

export interface Page {
  readonly offset: number;
  readonly limit: number;
}

export interface InboundSearch {
  /** The forms of an address, see `addressKeys`. */
  readonly from?: readonly string[] | undefined;
  readonly to?: readonly string[] | undefined;
}

// The count is the organization's; mail comes in live mode alone.
// Reads: inbound_emails (primary key, backwards), inbound_usage (primary key). Locks: none. Rows: up to $4 + $5.
const LIST = `
  select
    coalesce((select emails from inbound_usage where organization_id = $1 and $2 = 'live'), 0)::float8 as total,
    array(
      select id
      from inbound_emails
      where organization_id = $1 and mode = $2 and id < $3
      order by id desc
      offset $4 limit $5
    )::text[] as ids`;

/** All of a tenant's mail. @param before an id */
export function listInboundEmails(
  { organizationId, mode }: Tenant,
  before: string,
  { offset, limit }: Page,
): Statement<{ total: number; ids: string[] }> {
  const values = [organizationId, mode, before, offset, limit];
  return { name: 'list-inbound-emails', text: LIST, values };
}

// Looks through $4 emails.
// Reads: inbound_emails (primary key or index inbound_emails_domain, backwards). Locks: none. Rows: up to $4.
const search = (ofDomain: string) => `
  with examined as materialized (
    select id, ($5::text[] is null or from_address = any($5) or envelope_from = any($5))
      and ($6::text[] is null or envelope_to && $6) as is_match
    from inbound_emails
    where organization_id = $1 and mode = $2 and id < $3${ofDomain}
    order by id desc
    limit $4
  ), found as materialized (
    select id from examined where is_match
  )
  select
    array(select id from found order by id desc offset $7 limit $8)::text[] as ids,
    (select count(*) from found)::int as total,
    (select count(*) from examined)::int as examined,
    (select id from examined order by id limit 1) as oldest`;

const SEARCH = search('');
const SEARCH_OF_DOMAIN = search(' and domain_id = $9');

export interface SearchResult {
  readonly ids: string[];
  /** Matches among the emails examined. */
  readonly total: number;
  readonly examined: number;
  readonly oldest: string | null;
}

/** @param window how many are examined, of the domain's where the tenant has one; those before the id `before` */
export function searchInboundEmails(
  { organizationId, mode, domainId }: Tenant,
  { before, window }: { readonly before: string; readonly window: number },
  { from, to }: InboundSearch,
  { offset, limit }: Page,
): Statement<SearchResult> {
  const values = [organizationId, mode, before, window, from ?? null, to ?? null, offset, limit];
  return domainId === undefined
    ? { name: 'search-inbound-emails', text: SEARCH, values }
    : { name: 'search-inbound-emails-of-domain', text: SEARCH_OF_DOMAIN, values: [...values, domainId] };
}
