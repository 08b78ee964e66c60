/** Less than this is the time of a request, not a wrong clock. */
const LEAST_MS = 60_000;

let aheadMs = 0;

/** Sets how far the service's clock is ahead of this machine's. @param date the header of a response that has just come */
export function setClock(date: string | null): void {
  const ahead = Date.parse(date ?? '') - Date.now();
  if (!Number.isNaN(ahead)) aheadMs = Math.abs(ahead) < LEAST_MS ? 0 : ahead;
}

/**
 * The time by the service's clock, in milliseconds since 1970. Whatever is compared with times of the service needs it: by a clock that
 * is hours behind, the last hour would have no mail yet.
 */
export const now = (): number => Date.now() + aheadMs;
