// Lists the ids of a page of emails, and searches emails.
// Reads: emails (primary key, backwards), email_recipients (email_recipients_address). Locks: none.
// Rows: a list reads up to offset + limit of each range, and more where it skips emails of other domains; a search examines up to
// SEARCH_WINDOW rows.
// Not the ORM: ranges are arrays that are scanned one after the other; a search is limited before it filters. The bounds of all ranges
// limit the planner to the partitions of their months: with all partitions of a year it took 1.1 ms more.
import { lowerForms, lowerFormsInIndex, lowerInSql } from '../../../common/address-forms';
import type { Tenant } from '../../../common/tenant';
import type { Statement } from '../../../database/statements/statement';
import type { IdRange } from '../id-range';

export interface Page {
  readonly offset: number;
  readonly limit: number;
}

const IDS = `
  select e.id
  from unnest($4::uuid[], $5::uuid[]) with ordinality as r (first_id, end_id, place)
  cross join lateral (
    select id
    from emails
    where organization_id = $1 and mode = $2 and id >= r.first_id and id < r.end_id and id >= $8 and id < $9
      and ($3::uuid is null or domain_id = $3)
    order by id desc
    limit $6::int + $7::int
  ) e
  order by r.place, e.id desc
  offset $6 limit $7`;

/** Newest first. @param ranges newest first, not overlapping; `offset` counts from the newest email of the first range */
export function listIds(tenant: Tenant, ranges: readonly IdRange[], page: Page): Statement<{ id: string }> {
  return {
    name: 'list-email-ids',
    text: IDS,
    values: [
      ...tenantValues(tenant),
      ranges.map((range) => range.from),
      ranges.map((range) => range.to),
      page.offset,
      page.limit,
      ranges.at(-1)?.from,
      ranges[0]?.to,
    ],
  };
}

const COUNT = `
  select count(*)::int as emails
  from emails
  where organization_id = $1 and mode = $2 and id >= $3 and id < $4`;

/** Returns one row. Counts the emails one by one, so the range should be a part of an hour. */
export function countIds({ organizationId, mode, domainId }: Tenant, range: IdRange): Statement<{ emails: number }> {
  const values = [organizationId, mode, range.from, range.to];
  return domainId === undefined
    ? { name: 'count-email-ids', text: COUNT, values }
    : { name: 'count-email-ids-of-domain', text: `${COUNT} and domain_id = $5`, values: [...values, domainId] };
}

/** Number of the newest emails of the range that a search examines: 50,000 rows take about 50 ms. */
export const SEARCH_WINDOW = 50_000;

export interface SearchTerms {
  readonly status: string | undefined;
  readonly tag: string | undefined;
  /** Normal form. */
  readonly recipient: string | undefined;
  /** A part of the subject, ignoring case. */
  readonly subject: string | undefined;
}

/** Small letters; those of Σ are one, which some locales write by its place in the word. */
const folded = (text: string): string => `replace(lower(${text}), 'ς', 'σ')`;

// Computed while the row is scanned, so that subjects are not materialized.
const IS_NAMED = `($11::text is null or strpos(${folded('subject')}, ${folded('$11')}) > 0) as is_named`;

const NEWEST = `
    select id, status, tags, domain_id, ${IS_NAMED}
    from emails
    where organization_id = $1 and mode = $2 and id >= $4 and id < $5
    order by id desc
    limit $8`;

const toRecipient = (form: string, from = '') => `
    select id, e.status, tags, domain_id, ${IS_NAMED}
    from (
      select distinct email_id
      from ${from}(
        select email_id
        from email_recipients
        where lower(address) = ${form} and ${lowerInSql('address')} = any($13::text[])
          and organization_id = $1 and mode = $2 and email_id >= $4 and email_id < $5
        order by email_id desc
        limit $8
      ) named
      order by email_id desc
      limit $8
    ) received
    join emails e on e.organization_id = $1 and e.mode = $2 and e.id = received.email_id and e.id >= $4 and e.id < $5
    order by id desc`;

const NEWEST_TO_RECIPIENT = toRecipient('$12::text');
/** Planned for each call, since the number of forms matters; few addresses have several. */
const NEWEST_TO_FORMS = toRecipient('form', 'unnest($12::text[]) as form cross join lateral ');

const search = (seen: string) => `
  with examined as materialized (${seen}
  ), found as materialized (
    select id from examined
    where ($3::uuid is null or domain_id = $3) and ($6::text is null or status = $6) and ($7::text is null or $7 = any(tags))
      and is_named
  )
  select
    array(select id::text from found order by id desc offset $9 limit $10) as ids,
    (select count(*) from found)::int as total,
    (select count(*) from examined)::int as "examined",
    (select id from examined order by id limit 1) as oldest`;

export interface SearchResult {
  readonly ids: string[];
  /** Number of matches among the examined emails; `ids` is a page of them, newest first. */
  readonly total: number;
  readonly examined: number;
  /** Id of the oldest examined email; null when there is none. */
  readonly oldest: string | null;
}

/**
 * Returns one row: a page of the matches among the newest SEARCH_WINDOW emails of the range; with `recipient`, among the newest
 * SEARCH_WINDOW emails to that address, of all of its forms together: what is older than those has not been examined.
 * @param window another one than SEARCH_WINDOW
 */
export function searchEmails(
  tenant: Tenant,
  range: IdRange,
  { status, tag, recipient, subject }: SearchTerms,
  { offset, limit }: Page,
  window = SEARCH_WINDOW,
): Statement<SearchResult> {
  const values = [
    ...tenantValues(tenant),
    range.from,
    range.to,
    status ?? null,
    tag ?? null,
    window,
    offset,
    limit,
    subject ?? null,
  ];
  if (recipient === undefined) return { name: 'search-emails', text: search(NEWEST), values };
  const forms = lowerForms(recipient);
  const indexed = lowerFormsInIndex(forms);
  return indexed.length === 1
    ? { name: 'search-emails-to', text: search(NEWEST_TO_RECIPIENT), values: [...values, indexed[0], forms] }
    : { name: 'search-emails-to-forms', text: search(NEWEST_TO_FORMS), values: [...values, indexed, forms] };
}

function tenantValues({ organizationId, mode, domainId }: Tenant): unknown[] {
  return [organizationId, mode, domainId ?? null];
}
