import type { Tenant } from '../../../common/tenant';
import type { Statement } from '../../../database/statements/statement';
import type { Suppression } from '../suppression.entity';
import type { AddressLookup, EncryptedHashKey, MailLookup, SuppressionReason } from '../suppression';

// Finds which of many addresses are suppressed: by a query, or inside the transaction that accepts their mail.

export interface SuppressedAddress {
  /** Index into the given addresses. */
  index: number;
  reason: SuppressionReason;
}

/** A suppressed address or a hash key; the columns of the other kind are null. */
export type FoundRow = SuppressedAddress | (EncryptedHashKey & { index: null });

/**
 * SQL: the entries of the address `wanted` that are in force.
 *
 * The range over one address, and its order, are hints for the planner: they leave only the primary key. By equality any index that begins with
 * organization and mode looks as cheap while the table is small, and each address would read all entries of its organization
 * until the table is analyzed (after an import, 300 addresses took 3 s).
 *
 * @param now the parameter that holds the time
 */
const entriesOfWanted = (now: string): string => `
    select e.reason
    from suppressions e
    where e.organization_id = wanted.organization_id and e.mode = wanted.mode
      and e.address_key between wanted.address_key and wanted.address_key
      and (e.expires_at is null or e.expires_at > ${now})
    order by e.address_key`;

/** Parameters of both statements: the addresses, column by column. */
const columnsOf = (addresses: readonly AddressLookup[]) => [
  addresses.map((address) => address.organizationId),
  addresses.map((address) => address.mode),
  addresses.map((address) => address.key),
];

// Finds the suppressions in force for many addresses at once, and the keys of those organizations that have hashed entries too:
// in one snapshot, so that an entry is found even while it is being hashed.
// Reads: suppressions, suppression_hash_keys (primary keys). Locks: none. Rows: those of a batch of accepts or claims that
// are listed, and an organization's key where there is one.
// Not the ORM: hundreds of (organization, mode, address) triples in one look-up with fixed text.
const FIND_SUPPRESSED = `
  select
    wanted.ordinality::int - 1 as index, s.reason, null::uuid as "organizationId", null::bytea as secret
  from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as wanted (organization_id, mode, address_key, ordinality)
  join lateral (${entriesOfWanted('$4')}
  ) s on true
  union all
  select null, null, k.organization_id, k.secret
  from suppression_hash_keys k
  where k.organization_id = any($1)`;

/** @param addresses any number, in any order; `index` of a row refers to them */
export function findSuppressed(addresses: readonly AddressLookup[], now: Date): Statement<FoundRow> {
  return {
    name: 'find-suppressed',
    text: FIND_SUPPRESSED,
    values: [...columnsOf(addresses), now],
  };
}

// Fails its transaction (WB001) when one of the addresses may be suppressed: it has an entry in force that blocks mail of
// its category, or its organization has hashed entries, which only the application can compare. Sent before the writes, it
// saves a batch of accepts the round trip of a query.
// Reads: suppressions, suppression_hash_keys (primary keys). Locks: none. Rows: none.
// Not the ORM: hundreds of (organization, mode, address) triples in one look-up with fixed text.
const REFUSE_LISTED = `
  select refuse_listed(
    exists (
      select
      from unnest($1::uuid[], $2::text[], $3::text[], $4::text[]) as wanted (organization_id, mode, address_key, category)
      join lateral (${entriesOfWanted('$5')}
      ) s on s.reason <> 'unsubscribe' or wanted.category = 'bulk'
    ) or exists (
      select from suppression_hash_keys k where k.organization_id = any($1)
    )
  )`;

/** Returns no rows; raises SQLSTATE WB001, which `isListed` recognises. */
export function refuseListed(addresses: readonly MailLookup[], now: Date): Statement<never> {
  return {
    name: 'refuse-listed',
    text: REFUSE_LISTED,
    values: [...columnsOf(addresses), addresses.map(({ category }) => category), now],
  };
}

// Adds addresses to one list manually; returns those that were not on it for the same reason already.
// Writes: suppressions (primary key). Locks: rows in key order, as in add-suppressions. Rows: 1 to 1,000, each key and
// reason once.
// Not the ORM: an entry that has expired is replaced, one in force is left alone, and one step distinguishes the two.
const INSERT = `
  insert into suppressions as listed
    (organization_id, mode, address_key, reason, id, email, source, notes, suppressed_at)
  select $1::uuid, $2::text, address_key, reason, id, email, 'api', notes, $3::timestamptz
  from unnest($4::text[], $5::text[], $6::uuid[], $7::text[], $8::text[]) as given (address_key, reason, id, email, notes)
  order by address_key, reason
  on conflict (organization_id, mode, address_key, reason) do update
    set id = excluded.id, email = excluded.email, source = excluded.source, notes = excluded.notes,
      suppressed_at = excluded.suppressed_at, expires_at = null
    where listed.expires_at <= excluded.suppressed_at
  returning id`;

/**
 * Returns the ids of the inserted or renewed entries; the others were in force. @param entries each address and reason
 * once
 */
export function insertSuppressions(
  { organizationId, mode }: Tenant,
  entries: readonly Suppression[],
  now: Date,
): Statement<{ id: string }> {
  return {
    name: 'insert-suppressions',
    text: INSERT,
    values: [
      organizationId,
      mode,
      now,
      entries.map((entry) => entry.addressKey),
      entries.map((entry) => entry.reason),
      entries.map((entry) => entry.id),
      entries.map((entry) => entry.email),
      entries.map((entry) => entry.notes),
    ],
  };
}

/** Tables whose rows lose their effect at the time in column `end`, which has an index. */
const EXPIRING = {
  soft_bounces: { end: 'last_bounced_at', before: '$1', key: ['organization_id', 'mode', 'address_key'] },
  missing_domains: {
    end: 'last_seen_on',
    before: "($1::timestamptz at time zone 'UTC')::date",
    key: ['organization_id', 'mode', 'address_key'],
  },
  suppressions: { end: 'expires_at', before: '$1', key: ['organization_id', 'mode', 'address_key', 'reason'] },
} as const;

export type ExpiringTable = keyof typeof EXPIRING;

// Deletes up to $2 rows of a table whose effect ended before $1, oldest first.
// Writes: soft_bounces, missing_domains or suppressions (index on `end`). Locks: the rows, skip locked. Rows: up to $2.
// Not the ORM: a bounded delete.
/** Returns one row per deleted one. */
export function deleteExpired(table: ExpiringTable, before: Date, limit: number): Statement<{ deleted: 1 }> {
  const { end, before: moment, key } = EXPIRING[table];
  const text = `
    delete from ${table} t
    using (
      select ${key.join(', ')}
      from ${table}
      where ${end} < ${moment}
      order by ${end}
      limit $2
      for update skip locked
    ) old
    where ${key.map((column) => `t.${column} = old.${column}`).join(' and ')}
    returning 1 as deleted`;
  return { name: `delete-expired-${table}`, text, values: [before, limit] };
}
