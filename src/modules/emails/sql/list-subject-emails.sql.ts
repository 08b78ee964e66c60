// The next emails to an address, by id, as many as fit into a weight: content bytes, and so many for each event.
// Reads: email_recipients (email_recipients_address), emails, email_contents (primary keys; the bodies' lengths only).
// Locks: none. Rows: up to $6. Not the ORM: the running sum that bounds what the page will hold in memory.
import type { Mode } from '../../../common/tenant';
import type { Statement } from '../../../database/statement';

export interface SubjectScope {
  readonly organizationId: string;
  readonly mode: Mode;
  /** Normal form. */
  readonly address: string;
}

export interface SubjectRange {
  /** The last id of the page before. */
  readonly after: string;
  /** No id from this one on. */
  readonly before: string;
}

/** An SMTP reply has 500 characters at most. */
const EVENT_BYTES = 1_000;

/** Materialized, so that the look-ups get all three columns of the keys from it, whatever the planner knows of the tables. */
const TEXT = `
  with received as materialized (
    select distinct organization_id, mode, email_id
    from email_recipients
    where lower(address) = lower($1) and organization_id = $2 and mode = $3 and email_id > $4 and email_id < $5
    order by email_id
    limit $6
  ), weighed as (
    select r.email_id as id,
      coalesce(octet_length(c.html), 0) + coalesce(octet_length(c.text), 0) + e.event_sequence * ${EVENT_BYTES} as bytes
    from received r
    join emails e on e.organization_id = r.organization_id and e.mode = r.mode and e.id = r.email_id
    left join email_contents c
      on c.organization_id = r.organization_id and c.mode = r.mode and c.email_id = r.email_id
  )
  select id
  from (select id, sum(bytes) over (order by id) - bytes as bytes_before from weighed) summed
  where bytes_before < $7
  order by id`;

/** Answers at least one, if there is one: an email of any size is a page. */
export function listSubjectEmails(
  { organizationId, mode, address }: SubjectScope,
  { after, before }: SubjectRange,
  limits: { readonly emails: number; readonly bytes: number },
): Statement<{ id: string }> {
  return {
    name: 'list-subject-emails',
    text: TEXT,
    values: [address, organizationId, mode, after, before, limits.emails, limits.bytes],
  };
}
