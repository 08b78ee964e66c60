import type { FieldErrors } from '../../../../common/errors/app-error';
import { FURTHER_PROBLEMS } from './field-reader';
import type { RefusedItem } from './send-request';

/** Of the reasons of all refused emails of a batch together; each of them has its first one in any case. */
const MAX_BYTES = 64 * 1024;

/**
 * The reasons why emails of a batch are refused, as many as there is room for. The response is stored under the idempotency key of
 * the batch: without a limit it had up to 13 MB, in a table that then grew by gigabytes an hour, and took a second of the event loop.
 */
export class BatchReasons {
  private left = MAX_BYTES;

  /** @param index of the email in its batch */
  shorten(refused: RefusedItem, index: number): RefusedItem {
    const reasons = Object.entries((refused.details?.validation ?? {}) as FieldErrors);
    const kept = reasons.filter((reason, position) => this.take(reason) || position === 0);
    if (kept.length === reasons.length) return refused;
    const validation = { ...Object.fromEntries(kept), [`${index}.body`]: [FURTHER_PROBLEMS] };
    return { ...refused, details: { ...refused.details, validation } };
  }

  private take(reason: [field: string, messages: string[]]): boolean {
    this.left -= this.left > 0 ? Buffer.byteLength(JSON.stringify(reason)) : 0;
    return this.left > 0;
  }
}
