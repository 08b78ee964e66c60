// Parts of results, of all organizations.
import { NIL_ID } from '../../../../common/ids';
import type { Statement } from '../../../../database/statement';
import type { PartKey } from '../privacy-request.entity';

// Deletes parts of results that have expired at $1, and of requests that have failed.
// Writes: privacy_export_parts; reads privacy_requests (primary key). Locks: the rows, skip locked. Rows: up to $2.
// All parts are looked at: there are no others than those of a week.
// Not the ORM: a bounded delete.
const DELETE_OLD = `
  delete from privacy_export_parts p
  using (
    select organization_id, mode, request_id, section, part
    from privacy_export_parts p
    where exists (
      select from privacy_requests r
      where r.organization_id = p.organization_id and r.mode = p.mode and r.id = p.request_id
        and (r.expires_at <= $1 or r.status = 'failed')
    )
    order by organization_id, mode, request_id, section, part
    limit $2
    for update skip locked
  ) old
  where p.organization_id = old.organization_id and p.mode = old.mode and p.request_id = old.request_id
    and p.section = old.section and p.part = old.part
  returning 1 as deleted`;

export function deleteOldParts(now: Date, limit: number): Statement<{ deleted: 1 }> {
  return { name: 'delete-old-export-parts', text: DELETE_OLD, values: [now, limit] };
}

// The encrypted parts of all organizations' exports in key order, up to $6 after the key ($1, …, $5).
// Reads: privacy_export_parts (primary key). Locks: none. Rows: up to $6, of about 1 MiB.
// Without organization: the master key is the operator's, and encrypts what all of them have.
// Not the ORM: pages by a row comparison.

export interface EncryptedPart extends PartKey {
  readonly content: Buffer;
}

const LIST = `
  select organization_id as "organizationId", mode, request_id as id, section, part, content
  from privacy_export_parts
  where (organization_id, mode, request_id, section, part) > ($1, $2, $3, $4, $5)
  order by organization_id, mode, request_id, section, part
  limit $6`;

/** @param after the last row of the page before; by default the first page */
export function listEncryptedParts(limit: number, after?: EncryptedPart): Statement<EncryptedPart> {
  const { organizationId = NIL_ID, mode = '', id = NIL_ID, section = '', part = 0 } = after ?? {};
  return { name: 'list-encrypted-parts', text: LIST, values: [organizationId, mode, id, section, part, limit] };
}
