// Reads the next events of each email after a sequence.
// Reads: email_events (range of the primary key). Locks: none; the emails are locked. Rows: up to $5 of each email.
// Not the ORM: a position in each email's events.
import type { CompactEvent } from '../../../events/event-rows';
import type { EventType } from '../../../../common/event-types';
import type { Statement } from '../../../../database/statements/statement';
import type { ErasedSubject } from './erased.sql';
import { hashedKey } from '../../accept/request/idempotency';

/** The position in the events of an email. */
export interface EventPlace {
  readonly emailId: string;
  readonly sequence: number;
}

export interface ErasableEvent extends EventPlace {
  readonly eventType: EventType;
  readonly data: Record<string, unknown>;
}

/** A row of events with what their ids are made of, which webhook messages have too. */
export type FoundEvent = ErasableEvent & Pick<CompactEvent, 'id' | 'sendingMs' | 'alsoSent'>;

const READ = `
  select v.*
  from unnest($3::uuid[], $4::int[]) as given (id, sequence)
  cross join lateral (
    select
      e.email_id as "emailId", e.sequence, e.id, e.event_type as "eventType", e.data,
      e.sending_ms as "sendingMs", e.also_sent as "alsoSent"
    from email_events e
    where e.organization_id = $1 and e.mode = $2 and e.email_id = given.id and e.sequence > given.sequence
    order by e.sequence
    limit $5
  ) v`;

/** Per email, in the order of recording. @param places one per email @param limit events per email */
export function readErasableEvents(
  { organizationId, mode }: ErasedSubject,
  places: readonly EventPlace[],
  limit: number,
): Statement<FoundEvent> {
  return {
    name: 'read-erasable-events',
    text: READ,
    values: [organizationId, mode, places.map((place) => place.emailId), places.map((place) => place.sequence), limit],
  };
}

// Writes changed events back.
// Writes: email_events (primary key). Locks: the rows; the emails are locked. Rows: those of one read.
// Not the ORM: a batch of JSON values.

const WRITE = `
  update email_events e
  set data = given.data
  from unnest($3::uuid[], $4::int[], $5::jsonb[]) as given (email_id, sequence, data)
  where e.organization_id = $1 and e.mode = $2 and e.email_id = given.email_id and e.sequence = given.sequence
    and e.email_id = any ($3)`;

/** Replaces the data of events; type, time and sequence stay. */
export function writeEvents(
  { organizationId, mode }: ErasedSubject,
  events: readonly ErasableEvent[],
): Statement<never> {
  return {
    name: 'write-erased-events',
    text: WRITE,
    values: [
      organizationId,
      mode,
      events.map((event) => event.emailId),
      events.map((event) => event.sequence),
      events.map((event) => JSON.stringify(event.data)),
    ],
  };
}

// Reads a page of idempotency keys with the responses stored under them. It ends with the response that reaches $6 bytes: they are
// measured key by key, since the stored size of a response says little, as it is compressed, and measuring decompresses it.
// Reads: idempotency_keys (range of the primary key, one look-up for each key). Locks: none. Rows: up to $5.
// Not the ORM: a page by a key of two columns, limited by a running sum.
/** The position in the keys: a page starts after it. */
export interface KeyPlace {
  readonly path: string;
  readonly key: string;
}

export interface StoredKey extends KeyPlace {
  readonly response: unknown;
}

/** Of a page: so many keys, and so many bytes of responses, which the last one may exceed. */
export interface KeyLimits {
  readonly keys: number;
  readonly bytes: number;
}

const nextKey = (path: string, key: string) => `
      select path, key, octet_length(response::text) as bytes
      from idempotency_keys
      where organization_id = $1 and mode = $2 and (path, key) > (${path}, ${key})
      order by path, key
      limit 1`;

const READ_RESPONSES = `
  with recursive page as (
    select first.*, 1 as number
    from (${nextKey('$3', '$4')}) first
    union all
    select next.path, next.key, page.bytes + next.bytes, page.number + 1
    from page
    cross join lateral (${nextKey('page.path', 'page.key')}) next
    where page.number < $5 and page.bytes < $6
  )
  select k.path, k.key, k.response
  from page
  join idempotency_keys k on k.organization_id = $1 and k.mode = $2 and k.path = page.path and k.key = page.key
  order by k.path, k.key`;

/** In the order of path and key, after the position. */
export function readStoredKeys(
  { organizationId, mode }: Pick<ErasedSubject, 'organizationId' | 'mode'>,
  { path, key }: KeyPlace,
  { keys, bytes }: KeyLimits,
): Statement<StoredKey> {
  return { name: 'read-stored-keys', text: READ_RESPONSES, values: [organizationId, mode, path, key, keys, bytes] };
}

// Before keys are replaced by their hashes, deletes the responses that are stored under these hashes: an earlier erasure has hashed
// the same keys, and their responses have expired.
// Writes: idempotency_keys (primary key). Locks: the rows. Rows: almost always none.
// Not the ORM: a batch of keys.

const DELETE_HASHED = `
  delete from idempotency_keys i
  using unnest($3::text[], $4::text[]) as given (path, key)
  where i.organization_id = $1 and i.mode = $2 and i.path = given.path and i.key = given.key`;

/** @param keys before they are hashed */
export function deleteHashedKeys({ organizationId, mode }: ErasedSubject, keys: readonly KeyPlace[]): Statement<never> {
  const values = [organizationId, mode, keys.map(({ path }) => path), keys.map(({ key }) => hashedKey(key))];
  return { name: 'delete-hashed-keys', text: DELETE_HASHED, values };
}

// Writes changed responses back. A key that contains the address is replaced by its hash, under which requests still find it.
// Writes: idempotency_keys (primary key). Locks: the rows. Rows: those of one page that contain the address.
// Not the ORM: a batch of keys.

const WRITE_RESPONSES = `
  update idempotency_keys i
  set response = given.response::jsonb, key = given.left_key
  from unnest($3::text[], $4::text[], $5::text[], $6::text[]) as given (path, key, response, left_key)
  where i.organization_id = $1 and i.mode = $2 and i.path = given.path and i.key = given.key`;

export interface ErasedKey extends StoredKey {
  /** Whether the key contains the address, so that its hash replaces it. */
  readonly isHashed: boolean;
}

/** @param keys with their new response; `isHashed` ones get their hash as key */
export function writeStoredKeys({ organizationId, mode }: ErasedSubject, keys: readonly ErasedKey[]): Statement<never> {
  return {
    name: 'write-erased-keys',
    text: WRITE_RESPONSES,
    values: [
      organizationId,
      mode,
      keys.map((row) => row.path),
      keys.map((row) => row.key),
      keys.map((row) => JSON.stringify(row.response)),
      keys.map((row) => (row.isHashed ? hashedKey(row.key) : row.key)),
    ],
  };
}
