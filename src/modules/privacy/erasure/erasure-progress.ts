import { HOUR } from '../../../common/clock';
import { firstIdAt, newId, timeOfId } from '../../../common/ids';
import type { AttachmentPlace } from '../../emails/privacy/subject-erasure.service';
import type { SuppressionReason } from '../../suppressions/address-hashing.service';

/**
 * The steps in their order. The second passes over emails find those that were being accepted during the first. What mail leaves
 * elsewhere comes after them: responses, suppressions by bounces, copies.
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

/** Longer than any acceptance takes; an email gets its id when its acceptance starts. */
const ACCEPTANCE_MS = HOUR;

export type ErasureStep = (typeof ERASURE_STEPS)[number];

/** How much was erased, by kind, as the receipt shows it. */
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

/** Start of a page of idempotency keys. */
export interface KeyPlace {
  readonly path: string;
  readonly key: string;
}

/** The progress of an erasure, as stored with the request. */
export interface ErasureProgress {
  readonly step: ErasureStep;
  /** Start of the next page of the step; absent at the start of the step. */
  readonly after?: string | KeyPlace;
  /** The email whose attachments are being searched, and the position in them. */
  readonly attachment?: AttachmentPlace;
  /** The last email id that belongs to the erasure: later mail is new, or the erasure might never end. */
  readonly lastId: string;
  /** The last copy in the mailbox, set when its step starts: mail accepted earlier may have arrived since. */
  readonly lastCopyId?: string;
  /** Emails of this round of the step that workers were delivering. */
  readonly busy: number;
  readonly rounds: number;
  /** When the first round ended that had to wait for deliveries, in ms since 1970; absent before. */
  readonly waitsSinceMs?: number;
  readonly counts: ErasureCounts;
  readonly kept: readonly SuppressionReason[];
}

/** The result of one page of a step. */
export interface PageResult {
  readonly counts?: Partial<ErasureCounts>;
  /** Start of the next page; absent after the last. */
  readonly next?: string | KeyPlace;
  readonly attachment?: AttachmentPlace;
  readonly busy?: number;
  readonly kept?: readonly SuppressionReason[];
  /** Events that the subject has been erased from: webhooks may have delivered them. */
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

/** The stored progress of an erasure, with defaults. */
export function progressOf({ progress }: { readonly progress: Record<string, unknown> }): ErasureProgress {
  const begun = progress as Partial<ErasureProgress>;
  // An erasure started by an earlier release has fewer kinds.
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
