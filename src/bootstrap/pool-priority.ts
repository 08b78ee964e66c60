import { randomFill } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { setPriority } from 'node:os';

/** Of 19. A thread of this niceness gets a tenth of a processor that one of the usual niceness wants too, and all that is left over. */
const NICENESS = 10;
const THREADS = '/proc/self/task';

/**
 * Lets the threads of libuv's pool, which sign mail, yield to the event loop and to Postgres where these want the same processors.
 * A signature takes longer than most turns of the event loop, and one that is late delays one mail, a late turn all of them: 5 to
 * 9 % more deliveries on two cores (docs/benchmarks.md). Linux has a priority for each thread, elsewhere nothing changes.
 * To be called before the pool is used for the first time.
 */
export function lowerPoolPriority(): void {
  if (process.platform !== 'linux') return;
  try {
    const others = new Set(readdirSync(THREADS));
    // Starts all threads of the pool before it returns.
    randomFill(Buffer.alloc(1), () => undefined);
    for (const id of readdirSync(THREADS)) if (!others.has(id)) setPriority(Number(id), NICENESS);
  } catch {
    // Without /proc, or where priorities are not to be changed, all threads are equal as before.
  }
}
