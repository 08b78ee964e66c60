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
/** Between two questions to a server, which take computing time from what is waited for: a tenth of what it has taken so far. */
const SHARE = 0.1;
const MOST_MS = 150;

/**
 * Polls until the condition returns a truthy value, and resolves with it. A condition that throws ends the wait at once:
 * that is an error, not a "not yet".
 */
export async function waitFor<T>(condition: () => T | Promise<T>, options: WaitForOptions): Promise<Truthy<T>> {
  const { what, timeoutMs = WAIT_LIMIT_MS } = options;
  const startedMs = performance.now();
  for (;;) {
    const asked = condition();
    const result = await asked;
    if (result) return result as Truthy<T>;
    const waitedMs = performance.now() - startedMs;
    if (waitedMs > timeoutMs) throw new Error(`timed out after ${timeoutMs} ms waiting for ${what}`);
    const pauseMs = asked instanceof Promise ? Math.min(waitedMs * SHARE, MOST_MS) : POLL_MS;
    await delay(Math.max(pauseMs, POLL_MS));
  }
}
