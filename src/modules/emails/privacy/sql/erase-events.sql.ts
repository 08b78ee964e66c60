// Events of emails, of each the next ones after a sequence.
// Reads: email_events (range of the primary key). Locks: none; the emails are locked. Rows: up to $5 of each email.
// Not the ORM: a place in each email's events.
import type { EventType } from '../../../../common/event-types';
import type { Statement } from '../../../../database/statement';
import type { ErasedSubject } from './erased.sql';

/** Where to go on in the events of an email. */
export interface EventPlace {
  readonly emailId: string;
  readonly sequence: number;
}

export interface ErasableEvent extends EventPlace {
  readonly eventType: EventType;
  readonly data: Record<string, unknown>;
}

/** By its id webhooks know it. */
export type FoundEvent = ErasableEvent & { readonly id: string };

const READ = `
  select v."emailId", v.sequence, v.id, v."eventType", v.data
  from unnest($3::uuid[], $4::int[]) as given (id, sequence)
  cross join lateral (
    select e.email_id as "emailId", e.sequence, e.id, e.event_type as "eventType", e.data
    from email_events e
    where e.organization_id = $1 and e.mode = $2 and e.email_id = given.id and e.sequence > given.sequence
    order by e.sequence
    limit $5
  ) v`;

export function readErasableEvents(
  { organizationId, mode }: ErasedSubject,
  places: readonly EventPlace[],
  limit: number,
): Statement<FoundEvent> {
  return {
    name: 'read-erasable-events',
    text: READ,
    values: [organizationId, mode, places.map((place) => place.emailId), places.map((place) => place.sequence), limit],
  };
}

// Writes the changed ones back.
// Writes: email_events (primary key). Locks: the rows; the emails are locked. Rows: those of one read.
// Not the ORM: JSON by the batch.

const WRITE = `
  update email_events e
  set data = given.data
  from unnest($3::uuid[], $4::int[], $5::jsonb[]) as given (email_id, sequence, data)
  where e.organization_id = $1 and e.mode = $2 and e.email_id = given.email_id and e.sequence = given.sequence
    and e.email_id = any ($3)`;

export function writeEvents(
  { organizationId, mode }: ErasedSubject,
  events: readonly ErasableEvent[],
): Statement<never> {
  return {
    name: 'write-erased-events',
    text: WRITE,
    values: [
      organizationId,
      mode,
      events.map((event) => event.emailId),
      events.map((event) => event.sequence),
      events.map((event) => JSON.stringify(event.data)),
    ],
  };
}
