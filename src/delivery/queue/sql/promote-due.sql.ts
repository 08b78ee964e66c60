// Makes waiting deliveries ready once they are due.
// Writes: deliveries (partial index deliveries_waiting). Locks: rows in due order, skip locked. Rows: up to $2.
// Not the ORM: SKIP LOCKED inside an update. Keeping the future out of the ready index lets a claim look at due work only.
import type { Statement } from '../../../database/statement';

const TEXT = `
  with due as (
    select organization_id, mode, email_id, position
    from deliveries
    where state = 'waiting' and due_at <= $1
    order by due_at
    limit $2
    for update skip locked
  ), promoted as (
    update deliveries d
    set state = 'ready'
    from due
    where d.organization_id = due.organization_id and d.mode = due.mode
      and d.email_id = due.email_id and d.position = due.position
    returning 1
  )
  select count(*)::int as promoted from promoted`;

export function promoteDue(now: Date, limit: number): Statement<{ promoted: number }> {
  return { name: 'promote-due', text: TEXT, values: [now, limit] };
}
