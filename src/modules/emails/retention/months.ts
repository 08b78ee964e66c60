import { firstIdAt } from '../../../common/ids';

/** A calendar month in UTC, represented by its start. */
export type Month = Date;

/** The tables of emails: each has a partition for every month of its ids, and a default partition. */
export const MONTHLY_TABLES = [
  'emails',
  'email_contents',
  'email_attachments',
  'email_recipients',
  'email_events',
] as const;

export type MonthlyTable = (typeof MONTHLY_TABLES)[number];

/** The month of a time. @param later number of months to add */
export function monthOf(time: Date, later = 0): Month {
  return new Date(Date.UTC(time.getUTCFullYear(), time.getUTCMonth() + later, 1));
}

/** The span of a month: from inclusive, to exclusive. */
export function spanOf(month: Month): { readonly from: Date; readonly to: Date } {
  return { from: month, to: monthOf(month, 1) };
}

/** The ids generated in a month: from inclusive, to exclusive. */
export function idsOf(month: Month): { readonly from: string; readonly to: string } {
  const { from, to } = spanOf(month);
  return { from: firstIdAt(from), to: firstIdAt(to) };
}

/** The months in order, each once. */
export function distinctMonths(months: readonly Month[]): Month[] {
  return [...new Set(months.map((month) => month.getTime()))]
    .sort((one, other) => one - other)
    .map((ms) => new Date(ms));
}
