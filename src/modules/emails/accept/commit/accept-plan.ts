import { AppError } from '../../../../common/errors/app-error';
import { type IdempotencyClaim, keyName } from '../request/idempotency';
import { hygieneWarnings } from './list-hygiene';
import {
  type AcceptedEmail,
  type ItemResult,
  type KeyedResponse,
  type KeyState,
  refusal,
  type RefusedItem,
  type ScreenedSubmission,
  type SubmissionOutcome,
} from '../request/send-request';

/** The result of one email: final, or pending until it is known whether the email may be written. */
interface Slot {
  readonly item: ItemResult | AcceptedEmail;
  readonly remember: IdempotencyClaim | undefined;
}

/**
 * Decides, key by key, what a batch of submissions writes and what it returns. Pure: computes the emails to write and the
 * results from the states of the keys.
 */
export class AcceptPlan {
  private readonly slots: (AppError | { replay: readonly ItemResult[] } | Slot[])[];
  private readonly batchKeys = new Map<string, { fingerprint: Buffer; slot: Slot }>();

  constructor(
    private readonly submissions: readonly ScreenedSubmission[],
    private readonly states: ReadonlyMap<IdempotencyClaim, KeyState>,
  ) {
    this.slots = submissions.map((submission) => this.planSubmission(submission));
  }

  /** The emails to write, each once. */
  emails(): AcceptedEmail[] {
    const items = this.slots.flatMap((slots) => (Array.isArray(slots) ? slots.map((slot) => slot.item) : []));
    return [...new Set(items.filter((item) => 'command' in item))];
  }

  /** The results, in the order of submissions. @param refused emails that exceed a limit, by id */
  results(refused: ReadonlyMap<string, AppError>): SubmissionOutcome[] {
    return this.slots.map((slots) => {
      if (slots instanceof AppError) return slots;
      if (!Array.isArray(slots)) return { results: slots.replay, replayed: true };
      return { results: slots.map((slot) => settle(slot, refused)), replayed: false };
    });
  }

  /** The responses to store under the keys. */
  responsesToStore(refused: ReadonlyMap<string, AppError>): KeyedResponse[] {
    return this.slots.flatMap((slots, index) => {
      if (!Array.isArray(slots)) return [];
      const results = slots.map((slot) => settle(slot, refused));
      const items = slots.flatMap(({ remember }, position) => {
        const response = results[position];
        return remember && response && isFinal(response) ? [{ claim: remember, response }] : [];
      });
      const { idempotency } = this.submissions[index] as ScreenedSubmission;
      const isStored = idempotency && (idempotency.ofBatch === true || results.every(isFinal));
      const whole = isStored ? [{ claim: idempotency, response: results }] : [];
      return [...whole, ...items];
    });
  }

  private planSubmission(submission: ScreenedSubmission): AppError | { replay: readonly ItemResult[] } | Slot[] {
    const state = submission.idempotency && this.states.get(submission.idempotency);
    if (state?.kind === 'stored') return { replay: [state.response].flat() };
    if (state?.kind === 'reused') return keyReused();
    if (state?.kind === 'in_progress') return inProgress();
    return submission.items.map(({ outcome, idempotency }) => this.planItem(outcome, idempotency));
  }

  private planItem(outcome: AcceptedEmail | RefusedItem, claim: IdempotencyClaim | undefined): Slot {
    if (!claim) return { item: outcome, remember: undefined };
    const state = this.states.get(claim);
    if (state?.kind === 'stored') return { item: [state.response].flat()[0] as ItemResult, remember: undefined };
    if (state?.kind === 'reused') return { item: refusal(keyReused()), remember: undefined };
    if (state?.kind === 'in_progress') return { item: refusal(inProgress()), remember: undefined };
    return this.planFree(outcome, claim);
  }

  /** Plans an item with a free key. When two items of a batch have the same key, the first one counts. */
  private planFree(outcome: AcceptedEmail | RefusedItem, claim: IdempotencyClaim): Slot {
    const name = keyName(claim);
    const first = this.batchKeys.get(name);
    if (first) {
      const same = first.fingerprint.equals(claim.fingerprint);
      return { item: same ? first.slot.item : refusal(keyReused()), remember: undefined };
    }
    const slot = { item: outcome, remember: claim };
    this.batchKeys.set(name, { fingerprint: claim.fingerprint, slot });
    return slot;
  }
}

function settle({ item }: Slot, refused: ReadonlyMap<string, AppError>): ItemResult {
  if (!('command' in item)) return item;
  const error = refused.get(item.id);
  if (error) return refusal(error);
  const { scheduledAt } = item.command.request;
  const warnings = hygieneWarnings(item.recipients.map(({ email }) => email));
  return {
    kind: 'accepted',
    id: item.id,
    status: scheduledAt ? 'scheduled' : 'queued',
    ...(scheduledAt && { scheduledAt: scheduledAt.toISOString() }),
    suppressed: item.suppressed,
    ...(warnings.length > 0 && { warnings }),
  };
}

function keyReused(): AppError {
  return new AppError('idempotency_key_reused', 'This idempotency key was used with another body', {
    suggestion: 'Use a new key for a new request',
  });
}

function inProgress(): AppError {
  return new AppError('idempotency_in_progress', 'The first request with this idempotency key is still running', {
    retryAfterSeconds: 1,
  });
}

/** Whether a result is stored: only those that cannot change with a retry, acceptances and final business errors. */
function isFinal(result: ItemResult): boolean {
  return result.kind === 'accepted' || result.code === 'recipient_suppressed' || result.code === 'domain_not_verified';
}
