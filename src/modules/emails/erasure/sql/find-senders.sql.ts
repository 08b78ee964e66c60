// Which emails of a page were sent by a subject, or ask for answers to it.
// Reads: emails (range of the primary key). Locks: none. Rows: looks at up to $6.
// Not the ORM: one page of all emails, of which hardly any is answered.
import type { Statement } from '../../../../database/statement';
import type { ErasedSubject } from './erased.sql';
import type { IdPage } from './find-received.sql';

export interface SenderPage {
  ids: string[];
  /** The last email of the page; null when there was none. */
  lastId: string | null;
}

const TEXT = `
  with page as materialized (
    select id, from_email, reply_to
    from emails
    where organization_id = $1 and mode = $2 and id > $4 and id <= $5
    order by id
    limit $6
  )
  select
    array(
      select id::text
      from page
      where lower(from_email) = any($3) or exists (select 1 from unnest(reply_to) a where lower(a) = any($3))
    ) as ids,
    (select id from page order by id desc limit 1) as "lastId"`;

export function findSenders(
  { organizationId, mode, keys }: ErasedSubject,
  { after, lastId }: IdPage,
  limit: number,
): Statement<SenderPage> {
  return { name: 'find-senders', text: TEXT, values: [organizationId, mode, keys, after, lastId, limit] };
}
