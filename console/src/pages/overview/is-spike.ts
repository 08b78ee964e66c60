const LEAST = 10;
/** Mailbox providers begin to slow a sender down at a share of bounces like this. */
const SHARE = 0.02;

/** Whether so many new suppressions of a day are more than usual. @param accepted recipients of that day, if they are known */
export function isSpike(suppressed: number, accepted: number | undefined): boolean {
  return suppressed >= LEAST && accepted !== undefined && suppressed > accepted * SHARE;
}
