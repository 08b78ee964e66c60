// Removes a subject from emails whose recipients have been erased. An email whose recipients are all erased loses what it
// said as well; another one loses only the address, so that it can still be sent to the others.
// Writes: emails (primary key); reads email_recipients (primary key). Locks: none beyond those of lock-emails.
// Rows: one batch of an erasure.
// Not the ORM: arrays and JSON are rewritten where they are.
import type { Statement } from '../../../../database/statement';
import { type ErasedSubject, placeholder, REPLACEMENT, withoutAddress } from './erased.sql';

/** An email to be erased; `position` is the subject's among the recipients, null when it is none of them. */
export interface NamedEmail {
  readonly emailId: string;
  readonly position: number | null;
}

const withPlaceholders = (addresses: string): string => `
      case when ${addresses} is not null then array(
        select case when lower(a) = any($5) then ${placeholder('coalesce(x.position, 0)')} else a end
        from unnest(${addresses}) with ordinality as listed (a, place)
        order by place
      ) end`;

const EMAILS = `
  with examined as materialized (
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
    subject = case when x.is_sole then '${REPLACEMENT}' else ${withoutAddress('e.subject', '$6')} end,
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
    tags = case when not x.is_sole and e.tags is not null then array(
      select ${withoutAddress('tag', '$6')} from unnest(e.tags) with ordinality as listed (tag, place) order by place
    ) end,
    metadata = case when not x.is_sole then ${withoutAddress('e.metadata::text', '$6')}::jsonb end,
    updated_at = $7
  from examined x
  where e.organization_id = $1 and e.mode = $2 and e.id = x.id
  returning e.id, x.is_sole as "isSole"`;

export interface ErasedEmail {
  id: string;
  /** It had no other recipient. */
  isSole: boolean;
}

/** @param emails each once */
export function eraseEmails(
  { organizationId, mode, keys, pattern }: ErasedSubject,
  emails: readonly NamedEmail[],
  now: Date,
): Statement<ErasedEmail> {
  return {
    name: 'erase-emails',
    text: EMAILS,
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

// Puts placeholders in the place of recipients, and removes their addresses from the replies about the others.
// Writes: email_recipients (primary key). Locks: none beyond those of the emails. Rows: one batch of an erasure.
// Not the ORM: a batch of keys, and the new address is made of the row's own.

const RECIPIENTS = `
  update email_recipients r
  set
    address = case when r.position = given.position then ${placeholder('r.position')} else r.address end,
    last_response = case when r.position = given.position then null else ${withoutAddress('r.last_response', '$5')} end
  from unnest($3::uuid[], $4::smallint[]) as given (email_id, position)
  where r.organization_id = $1 and r.mode = $2 and r.email_id = given.email_id
    and (r.position = given.position or r.last_response ~ $5)`;

export function eraseRecipients(
  { organizationId, mode, pattern }: ErasedSubject,
  emails: readonly NamedEmail[],
): Statement<never> {
  return {
    name: 'erase-recipients',
    text: RECIPIENTS,
    values: [
      organizationId,
      mode,
      emails.map((email) => email.emailId),
      emails.map((email) => email.position),
      pattern,
    ],
  };
}
