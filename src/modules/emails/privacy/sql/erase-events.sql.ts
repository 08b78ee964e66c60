// Removes a subject from the events of some emails. Events about it keep what happened and lose whom and how in words;
// the others lose the address.
// What the statistics are recounted by stays: the type, the time, whether it was a duplicate or automated, and a recipient
// that tells those of one email apart.
// Writes: email_events (primary key). Locks: the rows; the emails are locked. Rows: the events of one batch of an erasure.
// Not the ORM: JSON is rewritten where it is.
import type { Statement } from '../../../../database/statement';
import type { NamedEmail } from './erase-emails.sql';
import { type ErasedSubject, placeholder, withoutAddress } from './erased.sql';

const KEPT = [
  'attempt',
  'automated',
  'bounceType',
  'class',
  'code',
  'countsAgainstSender',
  'duplicate',
  'enhancedCode',
  'method',
  'nextAttemptAt',
  'reason',
  'ruleId',
];

const EVENTS = `
  update email_events e
  set data = case
    when lower(e.data ->> 'recipient') = any($5) then (
      select jsonb_object_agg(key, value)
      from jsonb_each(
        e.data || jsonb_build_object('recipient', ${placeholder('coalesce(given.position, 0)')})
      )
      where key in ('recipient', ${KEPT.map((name) => `'${name}'`).join(', ')})
        or key = 'detail' and e.event_type in ('blocked', 'cancelled')
    )
    else ${withoutAddress('e.data::text', '$6')}::jsonb
  end
  from unnest($3::uuid[], $4::smallint[]) as given (id, position)
  where e.organization_id = $1 and e.mode = $2 and e.email_id = given.id
    and (lower(e.data ->> 'recipient') = any($5) or e.data::text ~ $6)
  returning 1 as erased`;

export function eraseEvents(
  { organizationId, mode, keys, pattern }: ErasedSubject,
  emails: readonly NamedEmail[],
): Statement<{ erased: 1 }> {
  return {
    name: 'erase-events',
    text: EVENTS,
    values: [
      organizationId,
      mode,
      emails.map((email) => email.emailId),
      emails.map((email) => email.position),
      keys,
      pattern,
    ],
  };
}

// Removes an address from the stored responses of one page of idempotency keys; the keys go on working.
// Writes: idempotency_keys (range of the primary key). Locks: the changed rows. Rows: examines up to $6.
// Not the ORM: JSON is rewritten where it is.

/** Where a page of keys begins: after this one. */
export interface KeyPlace {
  readonly path: string;
  readonly key: string;
}

const RESPONSES = `
  with page as materialized (
    select path, key, response
    from idempotency_keys
    where organization_id = $1 and mode = $2 and (path, key) > ($4, $5)
    order by path, key
    limit $6
  ), cleaned as (
    update idempotency_keys i
    set response = ${withoutAddress('i.response::text', '$3')}::jsonb
    from page p
    where p.response::text ~ $3
      and i.organization_id = $1 and i.mode = $2 and i.path = p.path and i.key = p.key
  )
  select path, key from page order by path desc, key desc limit 1`;

/** Returns the last key of the page; none when there was no key. */
export function eraseResponses(
  { organizationId, mode, pattern }: ErasedSubject,
  { path, key }: KeyPlace,
  limit: number,
): Statement<KeyPlace> {
  return { name: 'erase-responses', text: RESPONSES, values: [organizationId, mode, pattern, path, key, limit] };
}
