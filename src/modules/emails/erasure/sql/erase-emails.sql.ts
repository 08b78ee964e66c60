// Removes a subject from emails whose recipients have been erased. An email whose recipients are all erased loses what it
// said as well; of another only the address goes, so that it can still leave for the others.
// Writes: emails (primary key); reads email_recipients (primary key). Locks: none beyond those of lock-emails.
// Rows: one batch of an erasure.
// Not the ORM: arrays and JSON are rewritten where they are.
import type { Statement } from '../../../../database/statement';
import { type ErasedSubject, placeholder, REPLACEMENT, withoutAddress } from './erased.sql';

const withPlaceholders = (addresses: string): string => `
      case when ${addresses} is not null then array(
        select case when lower(a) = any($5) then ${placeholder('coalesce(j.position, 0)')} else a end
        from unnest(${addresses}) with ordinality as listed (a, place)
        order by place
      ) end`;

const TEXT = `
  with judged as materialized (
    select
      given.id,
      given.position,
      not exists (
        select 1
        from email_recipients r
        where r.organization_id = $1 and r.mode = $2 and r.email_id = given.id
          and r.address not like 'erased-%@erased.invalid'
      ) as is_sole
    from unnest($3::uuid[], $4::smallint[]) as given (id, position)
  )
  update emails e
  set
    subject = case when j.is_sole then '${REPLACEMENT}' else ${withoutAddress('e.subject', '$6')} end,
    to_emails = ${withPlaceholders('e.to_emails')},
    cc_emails = ${withPlaceholders('e.cc_emails')},
    bcc_emails = ${withPlaceholders('e.bcc_emails')},
    from_email = case
      when lower(e.from_email) = any($5) then 'erased@' || split_part(e.from_email, '@', 2) else e.from_email
    end,
    from_name = case when lower(e.from_email) = any($5) then null else ${withoutAddress('e.from_name', '$6')} end,
    reply_to = nullif(array(
      select a from unnest(e.reply_to) with ordinality as listed (a, place) where lower(a) <> all ($5) order by place
    ), '{}'),
    tags = case when not j.is_sole and e.tags is not null then array(
      select ${withoutAddress('tag', '$6')} from unnest(e.tags) with ordinality as listed (tag, place) order by place
    ) end,
    metadata = case when not j.is_sole then ${withoutAddress('e.metadata::text', '$6')}::jsonb end,
    updated_at = $7
  from judged j
  where e.organization_id = $1 and e.mode = $2 and e.id = j.id
  returning e.id, j.is_sole as "isSole"`;

export interface ErasedEmail {
  id: string;
  /** Nobody else was written to. */
  isSole: boolean;
}

/** @param emails each once; `position` is the subject's among the recipients, null when it is none of them */
export function eraseEmails(
  { organizationId, mode, keys, pattern }: ErasedSubject,
  emails: readonly { emailId: string; position: number | null }[],
  now: Date,
): Statement<ErasedEmail> {
  return {
    name: 'erase-emails',
    text: TEXT,
    values: [
      organizationId,
      mode,
      emails.map((email) => email.emailId),
      emails.map((email) => email.position),
      keys,
      pattern,
      now,
    ],
  };
}
