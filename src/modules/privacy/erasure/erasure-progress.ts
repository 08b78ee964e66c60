import { HOUR } from '../../../common/clock';
import { firstIdAt, newId, timeOfId } from '../../../common/ids';
import type { AttachmentPlace } from '../../emails/privacy/subject-erasure.service';
import type { SuppressionReason } from '../../suppressions/suppression-erasure.service';

/**
 * In their order. The second passes over emails find those whose acceptance was under way at the first. What mail leaves elsewhere
 * comes after them: responses, suppressions by bounces, copies.
 */
export const ERASURE_STEPS = [
  'received',
  'sent',
  'late',
  'late-sent',
  'responses',
  'suppressions',
  'inbound',
  'mailbox',
  'requests',
  'done',
] as const;

/** No acceptance takes as long: an email gets its id when it begins. */
const ACCEPTANCE_MS = HOUR;

export type ErasureStep = (typeof ERASURE_STEPS)[number];

/** How much was erased, by kind: what the receipt shows. */
export interface ErasureCounts {
  readonly emailsAnonymized: number;
  readonly eventsAnonymized: number;
  readonly recipientsAnonymized: number;
  readonly contentsDeleted: number;
  readonly deliveriesCancelled: number;
  readonly suppressionsRemoved: number;
  readonly suppressionsHashed: number;
  readonly mailboxCopiesDeleted: number;
  readonly reportsDeleted: number;
  readonly inboundEmailsDeleted: number;
  readonly exportsDeleted: number;
}

/** Where a page of idempotency keys begins. */
export interface KeyPlace {
  readonly path: string;
  readonly key: string;
}

/** How far an erasure has come, as the request keeps it. */
export interface ErasureProgress {
  readonly step: ErasureStep;
  /** Where the next page of the step begins; absent: at its beginning. */
  readonly after?: string | KeyPlace;
  /** Whose attachments are looked through, and how far. */
  readonly attachment?: AttachmentPlace;
  /** What is accepted later is new: an erasure that ran after it would never end. */
  readonly lastId: string;
  /** The same of copies in the mailbox, from the step's beginning on: mail of before may have got there since. */
  readonly lastCopyId?: string;
  /** Emails of this round of the step that workers were delivering. */
  readonly busy: number;
  readonly rounds: number;
  readonly counts: ErasureCounts;
  readonly kept: readonly SuppressionReason[];
}

/** What one page of a step came to. */
export interface PageResult {
  readonly counts?: Partial<ErasureCounts>;
  /** Where the next page begins; absent after the last. */
  readonly next?: string | KeyPlace;
  readonly attachment?: AttachmentPlace;
  readonly busy?: number;
  readonly kept?: readonly SuppressionReason[];
  /** Events that the subject has been erased from: webhooks may have told them. */
  readonly eventIds?: readonly string[];
}

const NOTHING: ErasureCounts = {
  emailsAnonymized: 0,
  eventsAnonymized: 0,
  recipientsAnonymized: 0,
  contentsDeleted: 0,
  deliveriesCancelled: 0,
  suppressionsRemoved: 0,
  suppressionsHashed: 0,
  mailboxCopiesDeleted: 0,
  reportsDeleted: 0,
  inboundEmailsDeleted: 0,
  exportsDeleted: 0,
};

export function progressOf({ progress }: { readonly progress: Record<string, unknown> }): ErasureProgress {
  const begun = progress as Partial<ErasureProgress>;
  // One that a release before has begun knows fewer kinds.
  const counts = { ...NOTHING, ...begun.counts };
  return { step: 'received', lastId: newId(), busy: 0, rounds: 0, kept: [], ...begun, counts };
}

/** The progress after a page. A step with busy emails has another round. */
export function advance(progress: ErasureProgress, page: PageResult): ErasureProgress {
  const busy = progress.busy + (page.busy ?? 0);
  const counted = {
    ...progress,
    after: undefined,
    attachment: page.attachment,
    counts: add(progress.counts, page.counts ?? {}),
    kept: page.kept ?? progress.kept,
  };
  if (page.next !== undefined) return { ...counted, busy, after: page.next };
  if (busy > 0) return { ...counted, busy: 0, rounds: progress.rounds + 1 };
  const step = ERASURE_STEPS[ERASURE_STEPS.indexOf(progress.step) + 1] ?? 'done';
  return { ...counted, step, busy: 0, rounds: 0, ...beginningOf(step, progress) };
}

function beginningOf(step: ErasureStep, { lastId }: ErasureProgress): Partial<ErasureProgress> {
  if (step === 'mailbox') return { lastCopyId: newId() };
  return step === 'late-sent' ? { after: firstIdAt(new Date(timeOfId(lastId).getTime() - ACCEPTANCE_MS)) } : {};
}

function add(counts: ErasureCounts, more: Partial<ErasureCounts>): ErasureCounts {
  const sums = Object.entries(counts).map(([kind, count]: [string, number]) => [
    kind,
    count + (more[kind as keyof ErasureCounts] ?? 0),
  ]);
  return Object.fromEntries(sums) as ErasureCounts;
}
