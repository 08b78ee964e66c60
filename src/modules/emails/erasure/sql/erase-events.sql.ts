// Removes a subject from the events of some emails. Events about it keep what happened and lose whom and how in words;
// from the others the address goes.
// What the statistics are recounted by stays: the type, the time, whether it was a duplicate or automated, and a recipient
// that tells those of one email apart.
// Writes: email_events (primary key). Locks: the rows; the emails are locked. Rows: the events of one batch of an erasure.
// Not the ORM: JSON is rewritten where it is.
import type { Statement } from '../../../../database/statement';
import { type ErasedSubject, placeholder, withoutAddress } from './erased.sql';

const KEPT = [
  'attempt',
  'automated',
  'bounceType',
  'code',
  'duplicate',
  'enhancedCode',
  'method',
  'nextAttemptAt',
  'reason',
];

const TEXT = `
  update email_events e
  set data = case
    when lower(e.data ->> 'recipient') = any($5) then (
      select jsonb_object_agg(key, value)
      from jsonb_each(
        e.data || jsonb_build_object('recipient', ${placeholder('coalesce(given.position, 0)')})
      )
      where key in ('recipient', ${KEPT.map((name) => `'${name}'`).join(', ')})
        or key = 'detail' and e.event_type in ('blocked', 'cancelled')
    )
    else ${withoutAddress('e.data::text', '$6')}::jsonb
  end
  from unnest($3::uuid[], $4::smallint[]) as given (id, position)
  where e.organization_id = $1 and e.mode = $2 and e.email_id = given.id
    and (lower(e.data ->> 'recipient') = any($5) or e.data::text ~ $6)
  returning 1 as erased`;

/** @param emails as for `eraseEmails` */
export function eraseEvents(
  { organizationId, mode, keys, pattern }: ErasedSubject,
  emails: readonly { emailId: string; position: number | null }[],
): Statement<{ erased: 1 }> {
  return {
    name: 'erase-events',
    text: TEXT,
    values: [
      organizationId,
      mode,
      emails.map((email) => email.emailId),
      emails.map((email) => email.position),
      keys,
      pattern,
    ],
  };
}
