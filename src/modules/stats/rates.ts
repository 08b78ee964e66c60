/** A fraction of 1. Mail accepted before a period may end inside it, so more than all is possible, and counts as all. */
export function share(part: number, whole: number): number {
  return whole > 0 ? Math.min(1, part / whole) : 0;
}

export function fourDecimals(rate: number): number {
  return Math.round(rate * 10_000) / 10_000;
}
