import type { Statement } from '../../statements/statement';

// Writes: master_key_record. Locks: its one row. Rows: one, or none when another key is recorded.
// Not the ORM: two processes with different keys may start at once, and the first one decides.
const RECORD = `
  insert into master_key_record as known (id, key_id, recorded_at)
  values (1, $1, now())
  on conflict (id) do update
  set key_id = excluded.key_id, recorded_at = excluded.recorded_at
  where $2::bigint[] is null or known.key_id = any($2)
  returning 1 as recorded`;

/** @param inPlaceOf the ids that it may replace; absent: any */
export function recordMasterKeyId(id: number, inPlaceOf?: readonly number[]): Statement<{ recorded: 1 }> {
  return { name: 'record-master-key-id', text: RECORD, values: [id, inPlaceOf ?? null] };
}
