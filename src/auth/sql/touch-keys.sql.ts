// Notes when keys were last used, many at a time.
// Writes: api_keys (primary key). Locks: rows in primary-key order. Rows: the keys used in the last seconds.
// Not the ORM: one statement for all keys instead of one each.
import type { Statement } from '../../database/statement';

export interface KeyUse {
  organizationId: string;
  id: string;
  usedAt: Date;
}

const TEXT = `
  with used as (
    select * from unnest($1::uuid[], $2::uuid[], $3::timestamptz[]) as u (organization_id, id, used_at)
  ), locked as (
    select k.organization_id, k.id, used.used_at
    from api_keys k join used using (organization_id, id)
    order by k.organization_id, k.id
    for update of k
  )
  update api_keys k
  set last_used_at = greatest(k.last_used_at, locked.used_at)
  from locked
  where k.organization_id = locked.organization_id and k.id = locked.id`;

export function touchKeys(uses: readonly KeyUse[]): Statement<never> {
  return {
    name: 'touch-keys',
    text: TEXT,
    values: [uses.map((use) => use.organizationId), uses.map((use) => use.id), uses.map((use) => use.usedAt)],
  };
}
