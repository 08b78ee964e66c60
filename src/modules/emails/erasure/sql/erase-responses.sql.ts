// Removes an address from what is answered again under one page of idempotency keys; the keys go on working.
// Writes: idempotency_keys (range of the primary key). Locks: the changed rows. Rows: looks at up to $6.
// Not the ORM: JSON is rewritten where it is.
import type { Statement } from '../../../../database/statement';
import { type ErasedSubject, withoutAddress } from './erased.sql';

/** Where a page of keys begins: after this one. */
export interface KeyPlace {
  readonly path: string;
  readonly key: string;
}

const TEXT = `
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

/** Answers the last key of the page; none when there was no key. */
export function eraseResponses(
  { organizationId, mode, pattern }: ErasedSubject,
  { path, key }: KeyPlace,
  limit: number,
): Statement<KeyPlace> {
  return { name: 'erase-responses', text: TEXT, values: [organizationId, mode, pattern, path, key, limit] };
}
