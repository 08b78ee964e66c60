const DAY_SECONDS = 86_400;
/** As many times the middle value as the highest one has to be, for the others to lie on the axis. */
const PEAK = 10;
/** Below it the axis shows each value. */
const MIN_PEAK = 20;

/** Whether one value is so far above the others that these cannot be told apart beside it. */
export function isSpiky(series: readonly (readonly number[])[]): boolean {
  // The highest line of each time: bounces are few beside deliveries, which is what a chart is to show.
  const tops = (series[0] ?? []).map((_, index) => Math.max(...series.map((values) => values[index] ?? 0)));
  const sorted = tops.filter((top) => top > 0).toSorted((one, other) => one - other);
  const highest = sorted.at(-1) ?? 0;
  const middle = sorted[Math.floor((sorted.length - 1) / 2)] ?? 0;
  return highest >= MIN_PEAK && highest > PEAK * middle;
}

const utcDay = new Intl.DateTimeFormat('en', { timeZone: 'UTC', month: 'short', day: 'numeric' });
const utcHour = new Intl.DateTimeFormat('en', {
  ...({ timeZone: 'UTC', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const),
});

/** Labels below a chart: days, or hours with the day below the first one of each. @param step seconds between two */
export function utcTicks(times: readonly string[], step: number): string[] {
  let known = '';
  return times.map((time) => {
    const date = new Date(time);
    const day = utcDay.format(date);
    if (step >= DAY_SECONDS) return day;
    const isNew = day !== known;
    known = day;
    return isNew ? `${utcHour.format(date)}\n${day}` : utcHour.format(date);
  });
}
