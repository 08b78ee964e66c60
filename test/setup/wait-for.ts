import { setTimeout as delay } from 'node:timers/promises';

export interface WaitForOptions {
  /** Ends the sentence "timed out waiting for …". */
  what: string;
  timeoutMs?: number;
}

type Truthy<T> = Exclude<T, false | 0 | '' | null | undefined | void>;

const POLL_MS = 15;

/**
 * Polls until the condition returns a truthy value, and resolves with it. A condition that throws ends the wait at once:
 * that is an error, not a "not yet".
 */
export async function waitFor<T>(condition: () => T | Promise<T>, options: WaitForOptions): Promise<Truthy<T>> {
  const { what, timeoutMs = 30_000 } = options;
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const result = await condition();
    if (result) return result as Truthy<T>;
    if (performance.now() > deadline) throw new Error(`timed out after ${timeoutMs} ms waiting for ${what}`);
    await delay(POLL_MS);
  }
}
