// Deletes the contents of emails that are at their end, and have been for long enough, among the next $5 of a tenant.
// Writes: email_contents, email_attachments (primary keys). Reads: email_recipients, email_events (primary keys).
// Locks: the contents, skip locked. Rows: $5 emails; what has been deleted is not read again, because the contents are walked,
// not the emails.
// Not the ORM: five tables in one round trip.
import type { Mode } from '../../../../common/tenant';
import type { Statement } from '../../../../database/statement';

const TEXT = `
  with examined as materialized (
    select email_id
    from email_contents
    where organization_id = $1 and mode = $2 and email_id > $3 and email_id < $4
    order by email_id
    limit $5
  ), over as materialized (
    select c.email_id
    from examined l
    join email_contents c on c.organization_id = $1 and c.mode = $2 and c.email_id = l.email_id
    where not exists (
      select 1 from email_recipients r
      where r.organization_id = $1 and r.mode = $2 and r.email_id = l.email_id and r.status = any ($7)
    ) and not exists (
      select 1 from email_events e
      where e.organization_id = $1 and e.mode = $2 and e.email_id = l.email_id
        and e.occurred_at > $6 and e.event_type = any ($8)
    )
    order by c.email_id
    for update of c skip locked
  ), without_attachments as (
    delete from email_attachments a using over o
    where a.organization_id = $1 and a.mode = $2 and a.email_id = o.email_id
  ), deleted as (
    delete from email_contents c using over o
    where c.organization_id = $1 and c.mode = $2 and c.email_id = o.email_id
    returning 1
  )
  select
    (select count(*) from examined)::int as "examined",
    (select email_id from examined order by email_id desc limit 1) as "lastId",
    (select count(*) from deleted)::int as deleted`;

/** Of recipients: not at their end. */
const OPEN = ['queued', 'scheduled', 'sending'];
/** Events that bring a recipient to an end, or to another one. */
const ENDS = ['sent', 'delivered', 'bounced', 'hard_bounce', 'soft_bounce', 'blocked', 'failed', 'cancelled'];

export interface ContentPage {
  readonly organizationId: string;
  readonly mode: Mode;
  /** Ids of emails: between these, both exclusive. */
  readonly afterId: string;
  readonly beforeId: string;
  /** What came to its end later keeps its content. */
  readonly endedBefore: Date;
}

export interface DeletedContents {
  readonly examined: number;
  readonly lastId: string | null;
  readonly deleted: number;
}

export function deleteContents(page: ContentPage, limit: number): Statement<DeletedContents> {
  const { organizationId, mode, afterId, beforeId, endedBefore } = page;
  return {
    name: 'delete-contents',
    text: TEXT,
    values: [organizationId, mode, afterId, beforeId, limit, endedBefore, OPEN, ENDS],
  };
}
