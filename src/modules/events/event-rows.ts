import { idPlus } from '../../common/ids';
import { type SmtpPhase, toPhase } from '../../delivery/ports/attempt-trace';

/*
 * How events are in rows of `email_events`: the module `emails` writes them, the feed reads them. Whoever reads rows expands them here.
 */

/**
 * A row of `email_events`. Most mails are sent in one short attempt, whose events come at the same moment: the last of them has a
 * row, which also records those right before it in its sequence. That saves a third of all rows (docs/adr/0043).
 */
export interface CompactEvent {
  readonly id: string;
  readonly sequence: number;
  readonly eventType: string;
  readonly source: string;
  readonly occurredAt: Date;
  readonly data: Readonly<Record<string, unknown>>;
  /** Milliseconds since the event `sending`, which the row records too; null when it does not. */
  readonly sendingMs: number | null;
  /** True for a `delivered` that also records the event `sent` of the same moment and data. */
  readonly alsoSent: boolean | null;
}

/** The source of every event `sending`. */
const SENDING_SOURCE = 'worker';
/** How many events a row records besides its own, at most. */
export const MOST_LEADS = 2;
/** The limit of the column. */
const MAX_SENDING_MS = 2 ** 31 - 1;

type PlainEvent = Omit<CompactEvent, 'id' | 'sendingMs' | 'alsoSent'>;

/** An event as its row records it. */
export type AsRow<E> = E & Pick<CompactEvent, 'sendingMs' | 'alsoSent'>;

/** A row for each event. */
export function plainEvents<E extends PlainEvent>(events: readonly E[]): AsRow<E>[] {
  return events.map((event) => ({ ...event, sendingMs: null, alsoSent: null }));
}

/** The rows for events of one email in their sequence: as few as possible. */
export function compactEvents<E extends PlainEvent>(events: readonly E[]): AsRow<E>[] {
  const rows = [];
  for (let at = 0; at < events.length; at += 1) {
    const sending = leadsAsSending(events[at], events[at + 1]) ? events[at] : undefined;
    if (sending) at += 1;
    const alsoSent = leadsAsSent(events[at], events[at + 1]) || null;
    if (alsoSent) at += 1;
    const event = events[at] as E;
    const sendingMs = sending ? event.occurredAt.getTime() - sending.occurredAt.getTime() : null;
    rows.push({ ...event, sendingMs, alsoSent });
  }
  return rows;
}

function leadsAsSending(event: PlainEvent | undefined, next: PlainEvent | undefined): boolean {
  if (event?.eventType !== 'sending' || !next || event.source !== SENDING_SOURCE) return false;
  const { recipient, ...others } = event.data;
  const isSame = recipient !== undefined && recipient === next.data.recipient && Object.keys(others).length === 0;
  return isSame && Math.abs(next.occurredAt.getTime() - event.occurredAt.getTime()) <= MAX_SENDING_MS;
}

function leadsAsSent(event: PlainEvent | undefined, next: PlainEvent | undefined): boolean {
  if (event?.eventType !== 'sent' || next?.eventType !== 'delivered') return false;
  return event.data === next.data && event.source === next.source && +event.occurredAt === +next.occurredAt;
}

/** Names of phases in rows of earlier releases, which the backfill `event-phases` renames (docs/upgrading.md). */
export const FORMER_PHASES: ReadonlyMap<string, SmtpPhase> = new Map<string, SmtpPhase>([
  ['routing', 'dns'],
  ['banner', 'greeting'],
  ['ehlo', 'greeting'],
  ['helo', 'greeting'],
  ['starttls', 'tls'],
  ['body', 'data'],
  ['dot', 'final'],
  ['final-dot', 'final'],
]);

/** The phase that a row names, under its present name; undefined when it never was one. */
export function readPhase(stored: unknown): SmtpPhase | undefined {
  return toPhase(stored) ?? FORMER_PHASES.get(String(stored));
}

/**
 * All events that the rows record, in order, with present names. Those without a row have ids right before their row's.
 */
export function expandEvents<E extends CompactEvent>(rows: readonly E[]): E[] {
  return rows.map(withPresentPhase).flatMap((row) => (leadCount(row) === 0 ? [row] : eventsOf(row)));
}

function withPresentPhase<E extends CompactEvent>(row: E): E {
  const present = FORMER_PHASES.get(String(row.data.phase));
  return present === undefined ? row : { ...row, data: { ...row.data, phase: present } };
}

/** The ids of all events that a row records, in order. */
export function idsOf(row: Pick<CompactEvent, 'id' | 'sendingMs' | 'alsoSent'>): string[] {
  const ids = [row.id];
  for (let before = 1; before <= leadCount(row); before += 1) ids.unshift(idPlus(row.id, -before));
  return ids;
}

function leadCount({ sendingMs, alsoSent }: Pick<CompactEvent, 'sendingMs' | 'alsoSent'>): number {
  return (sendingMs === null ? 0 : 1) + (alsoSent ? 1 : 0);
}

function eventsOf<E extends CompactEvent>(row: E): E[] {
  const plain = { sendingMs: null, alsoSent: null };
  const ids = idsOf(row);
  const events = [{ ...row, ...plain }];
  const lead = () => ({ id: ids.at(-1 - events.length) as string, sequence: row.sequence - events.length });
  // The trace of the attempt belongs to its last event.
  const bare = { ...row, ...plain, ...('trace' in row && { trace: null }), ...('attempt' in row && { attempt: null }) };
  if (row.alsoSent) events.unshift({ ...bare, ...lead(), eventType: 'sent' });
  if (row.sendingMs !== null) {
    const occurredAt = new Date(row.occurredAt.getTime() - row.sendingMs);
    const { recipient } = row.data;
    events.unshift({
      ...bare,
      ...lead(),
      eventType: 'sending',
      source: SENDING_SOURCE,
      occurredAt,
      data: { recipient },
    });
  }
  return events;
}
