// Which people inbound mail names: found by their addresses, and read again by a backfill.
import type { Mode } from '../../../../common/tenant';
import type { Statement } from '../../../../database/statements/statement';
import { type IdRange, INDEXED_ADDRESSES, type InboundEmailKey } from '../inbound-email';

/** By the index of addresses: with an order and a limit the planner would read all of a tenant's mail. */
const NAMED = `named as materialized (
    select organization_id, mode, id
    from inbound_emails
    where organization_id = $1 and mode = $2 and addresses && $3::text[]
  )`;

// Which messages show an address, in any of its forms, in the order of their ids, from one on and before another.
// Reads: inbound_emails (index inbound_emails_addresses). Locks: none. Rows: up to $6.
// Not the ORM: one index has to be used.
const LIST_OF = `
  with ${NAMED}
  select id from named where id > $4 and id < $5 order by id limit $6`;

export function listInboundEmailsOf(
  { organizationId, mode }: Pick<InboundEmailKey, 'organizationId' | 'mode'>,
  addresses: readonly string[],
  { after, before, limit }: IdRange,
): Statement<{ id: string }> {
  const values = [organizationId, mode, addresses, after, before, limit];
  return { name: 'list-inbound-emails-of', text: LIST_OF, values };
}

// Which messages name so many that not all of them are indexed, in the order of their ids.
// Reads: inbound_emails (index inbound_emails_crowded: hardly any mail is in it). Locks: none. Rows: up to $5.
// Not the ORM: the index's own condition.
const LIST_CROWDED = `
  select id
  from inbound_emails
  where organization_id = $1 and mode = $2 and cardinality(addresses) >= ${INDEXED_ADDRESSES}
    and id > $3 and id < $4
  order by id
  limit $5`;

export function listCrowdedInboundEmails(
  { organizationId, mode }: Pick<InboundEmailKey, 'organizationId' | 'mode'>,
  { after, before, limit }: IdRange,
): Statement<{ id: string }> {
  const values = [organizationId, mode, after, before, limit];
  return { name: 'list-crowded-inbound-emails', text: LIST_CROWDED, values };
}

// The next messages of all organizations, in the order of the primary key, and which of them may name more people than are known
// of them: a release before read 4 KiB of a field.
// Reads: inbound_emails (range of the primary key). Locks: none. Rows: up to $4.
// Not the ORM: a page by a key of three columns.
/** What a release before read of a field. */
const FIELD_BYTES = 4 * 1024;

export interface ExaminedInboundEmail {
  readonly organizationId: string;
  readonly mode: Mode;
  readonly id: string;
  /** Sender and recipients. */
  readonly envelope: string[];
  readonly mayNameMore: boolean;
}

const EXAMINE = `
  select
    organization_id as "organizationId", mode, id, envelope_from || envelope_to as envelope,
    size_bytes > ${FIELD_BYTES} and cardinality(addresses) < ${INDEXED_ADDRESSES} as "mayNameMore"
  from inbound_emails
  where (organization_id, mode, id) > ($1, $2, $3)
  order by organization_id, mode, id
  limit $4`;

export function listExaminedInboundEmails(
  { organizationId, mode, id }: Pick<ExaminedInboundEmail, 'organizationId' | 'mode' | 'id'>,
  limit: number,
): Statement<ExaminedInboundEmail> {
  return { name: 'list-examined-inbound-emails', text: EXAMINE, values: [organizationId, mode, id, limit] };
}

// The addresses of one message. Writes: inbound_emails (primary key). Locks: the row. Rows: 1, or none when they are the same.
// Not the ORM: says whether something has changed.
const WRITE = `
  update inbound_emails set addresses = $4
  where organization_id = $1 and mode = $2 and id = $3 and addresses <> $4
  returning id`;

export function writeInboundAddresses(
  { organizationId, mode, id }: InboundEmailKey,
  addresses: readonly string[],
): Statement<{ id: string }> {
  return { name: 'write-inbound-addresses', text: WRITE, values: [organizationId, mode, id, addresses] };
}

// How many messages there are. Reads: inbound_usage, a row for each organization. Locks: none.
// Not the ORM: of all organizations, for a backfill.
const COUNT = `select coalesce(sum(emails), 0)::float8 as emails from inbound_usage`;

export function countInboundEmails(): Statement<{ emails: number }> {
  return { name: 'count-inbound-emails', text: COUNT, values: [] };
}
