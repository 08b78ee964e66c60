const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' });
const dateTime = new Intl.DateTimeFormat('en', {
  ...({ year: 'numeric', month: 'short', day: 'numeric' } as const),
  ...({ hour: 'numeric', minute: '2-digit', second: '2-digit', timeZoneName: 'short' } as const),
});
const utcDateTime = new Intl.DateTimeFormat('en', {
  ...({ timeZone: 'UTC', month: 'short', day: 'numeric' } as const),
  ...({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const),
});
const wholeNumber = new Intl.NumberFormat('en');

/** `3 min. ago`, `in 2 hr.` @param nowMs what counts as now */
export function fromNow(iso: string, nowMs: number): string {
  const seconds = Math.round((new Date(iso).getTime() - nowMs) / 1_000);
  const size = Math.abs(seconds);
  if (size < 5) return 'just now';
  if (size < MINUTE) return relative.format(seconds, 'second');
  const minutes = Math.round(seconds / MINUTE);
  if (Math.abs(minutes) < HOUR / MINUTE) return relative.format(minutes, 'minute');
  // “Yesterday” is a day of the calendar, however many hours ago.
  const days = dayOf(new Date(iso)) - dayOf(new Date(nowMs));
  const hours = Math.round(seconds / HOUR);
  if (Math.abs(hours) < DAY / HOUR || days === 0) return relative.format(hours, 'hour');
  return relative.format(days, 'day');
}

/** Days of the reader's calendar, counted. */
const dayOf = (date: Date): number => Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) / (DAY * 1_000);

/** In the reader's own time zone, which it names, to the second: what is copied into a report has to be found in a log. */
export const moment = (iso: string): string => dateTime.format(new Date(iso));
/** In UTC, as figures are counted. */
export const utcMoment = (iso: string): string => utcDateTime.format(new Date(iso));

/** What a browser's field for a moment holds, which names no time zone: that of the reader. */
export const localMoment = (ms: number): string =>
  new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);

/** The moment that such a field holds. Undefined where it is empty; what is no moment stays as it is, for the service to refuse. */
export function momentIn(field: string): string | undefined {
  if (field === '') return undefined;
  const date = new Date(field);
  return Number.isNaN(date.getTime()) ? field : date.toISOString();
}

export const count = (value: number): string => wholeNumber.format(value);

/** The least that is told from nothing, and from everything. */
const LEAST_PERCENT = 0.01;

/** A share of 1, with one decimal, two where it would show as nothing or everything. Its sign stays on the line of its figure. */
export function percent(share: number): string {
  const value = share * 100;
  const rest = 100 - value;
  if (value > 0 && value < LEAST_PERCENT) return `<\u00a0${LEAST_PERCENT}\u00a0%`;
  if (rest > 0 && rest < LEAST_PERCENT) return `>\u00a0${100 - LEAST_PERCENT}\u00a0%`;
  const isNearEnd = (value > 0 && value < 0.1) || (rest > 0 && value.toFixed(1) === '100.0');
  return `${value.toFixed(isNearEnd ? 2 : 1)}\u00a0%`;
}

/** Instead of a figure that there is none of. */
export const NOTHING = '–';

/** A share of so many; of nothing there is none. */
export const shareOf = (share: number, whole: number): string => (whole === 0 ? NOTHING : percent(share));

export function bytes(size: number): string {
  if (size < 1_024) return `${size} B`;
  if (size < 1_048_576) return `${(size / 1_024).toFixed(1)} KB`;
  return `${(size / 1_048_576).toFixed(1)} MB`;
}

export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

/** `hard_bounce` → `Hard bounce` */
export function words(code: string): string {
  const text = code.replaceAll(/[_.-]+/g, ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `45 s`, `12 min`, `3 h`, `2 days` */
export function span(seconds: number): string {
  if (seconds < 2 * MINUTE) return `${Math.round(seconds)} s`;
  if (seconds < 2 * HOUR) return `${Math.round(seconds / MINUTE)} min`;
  if (seconds < 2 * DAY) return `${Math.round(seconds / HOUR)} h`;
  return `${Math.round(seconds / DAY)} days`;
}

/** Controls but line feeds and tabs, and what changes the direction of the text around it. */
const UNSEEN = /[^\P{Cc}\n\t]|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** A text from outside in which nothing is hidden: `gpj.exe` with an override before it would be read as `exe.jpg`. */
export const visible = (text: string): string =>
  text.replace(UNSEEN, (unseen) => `⟨U+${unseen.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`);

/** Where a long address is broken, if it has to be: behind its @ and slashes, and before its dots. */
const BREAKS = /(?<=[@/?&=])(?=[^\s@/?&=])|(?<=[^\s.])(?=\.[^\s.])/;

/** The parts of a text that are not broken, as far as they have room. */
export const partsOf = (text: string): string[] => text.split(BREAKS);
