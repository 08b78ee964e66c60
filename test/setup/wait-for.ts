import { setTimeout as delay } from 'node:timers/promises';

export interface WaitForOptions {
  /** Ends the sentence "timed out waiting for …". */
  what: string;
  /** Default: a minute, for a machine with much else to do. A wait ends by its condition. */
  timeoutMs?: number;
}

type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined | void>;

const POLL_MS = 15;
export const WAIT_LIMIT_MS = 60_000;

/**
 * Polls until the condition returns a truthy value, and resolves with it. A condition that throws ends the wait at once:
 * that is an error, not a "not yet".
 */
export async function waitFor<T>(condition: () => T | Promise<T>, options: WaitForOptions): Promise<Truthy<T>> {
  const { what, timeoutMs = WAIT_LIMIT_MS } = options;
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const result = await condition();
    if (result) return result as Truthy<T>;
    if (performance.now() > deadline) throw new Error(`timed out after ${timeoutMs} ms waiting for ${what}`);
    await delay(POLL_MS);
  }
}
