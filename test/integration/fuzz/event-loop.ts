import { setImmediate as nextTurn } from 'node:timers/promises';

/** What nothing from outside may make longer than one turn of the event loop, in milliseconds of processor time, and of a slow machine. */
const MAX_TURN_MS = 50 * Math.max(1, referenceMs() / 12);
/** A turn may be long by chance: garbage is collected, code compiled, the machine busy. One input is at fault if it always is. */
const ATTEMPTS = 5;

/**
 * Runs `work`, which has to leave the event loop its turns. Processor time is measured, not time on the clock, so a busy
 * machine changes nothing.
 * @throws Error when every attempt had a turn that was too long
 */
export async function withoutStall(name: () => string, work: () => Promise<void>): Promise<void> {
  let shortest = Infinity;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    shortest = Math.min(shortest, await longestTurn(work));
    if (shortest <= MAX_TURN_MS) return;
  }
  throw new Error(`${name()} holds the event loop for ${shortest.toFixed(0)} ms of processor time`);
}

/** Of work that takes 12 ms of a core of an AMD EPYC (November 2026): other machines, and those that are shared, take twice that. */
function referenceMs(): number {
  const taken = Array.from({ length: 7 }, () => {
    const before = process.cpuUsage();
    const words = Array.from({ length: 20_000 }, (_, index) => `${(index * 7_919) % 20_011}@example.com`);
    words
      .sort()
      .join(' ')
      .replace(/[0-9]+@/g, 'x');
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  });
  return taken.toSorted((one, other) => one - other)[3] ?? 0;
}

/**
 * In milliseconds of processor time, all threads together. It is looked at every millisecond, that is after each turn that is longer:
 * who looks at every turn computes all the time that the work waits.
 */
async function longestTurn(work: () => Promise<void>): Promise<number> {
  let longest = 0;
  let last = process.cpuUsage();
  const look = (): void => {
    const { user, system } = process.cpuUsage(last);
    longest = Math.max(longest, (user + system) / 1_000);
    last = process.cpuUsage();
  };
  const timer = setInterval(look, 1);
  await nextTurn();
  look();
  try {
    await work();
    await nextTurn();
  } finally {
    clearInterval(timer);
    look();
  }
  return longest;
}
