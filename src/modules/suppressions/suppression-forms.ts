import { type CsvRow, csvRows, unguarded } from './csv-rows';

/** The services whose CSV files can be imported. */
export const SUPPRESSION_FORMS = ['waybill', 'ses', 'postmark', 'mailgun', 'sendgrid', 'resend'] as const;
export type SuppressionForm = (typeof SUPPRESSION_FORMS)[number];

/** The reason for which another service lists an address, in this service's terms. */
export type ListedAs = 'spam_complaint' | 'hard_bounce' | 'blocklist' | 'manual' | 'unsubscribe';

export interface ListedAddress {
  /** As written in the file. */
  readonly email: string;
  readonly listedAs: ListedAs;
  readonly notes?: string;
}

export interface FormLine {
  /** From 1. */
  readonly line: number;
  /** Position after the line, in UTF-16 code units. */
  readonly end: number;
  /** The entry, or what is wrong with it; undefined for the header line and blank lines. */
  readonly entry: ListedAddress | { readonly fault: string } | undefined;
}

/** Returns the value of the first of these columns that the file has; empty when it has none. */
type Cell = (...names: readonly string[]) => string;

interface Form {
  readonly title: string;
  /** The columns of a file without a header line, in order. */
  readonly columns: readonly string[];
  /** @param has whether there is such a column */
  readonly classify: (cell: Cell, has: (name: string) => boolean) => ListedAs | { readonly fault: string };
}

const ADDRESS_COLUMNS = ['email', 'emailaddress', 'address', 'recipient'];
const DATE_COLUMNS = ['createdat', 'created', 'lastupdatetime', 'lastupdate', 'suppressedat'];
const MAX_NOTES = 500;
/** Longer than any address that `parseAddress` accepts. */
const MAX_ADDRESS = 1_024;

const FORMS: Record<SuppressionForm, Form> = {
  /** This service's own files: from the console or an export, and plain lists of addresses. */
  waybill: {
    title: 'Waybill',
    columns: ['email', 'reason', 'notes'],
    classify: (cell) => ownReason(cell('reason')),
  },
  /** `aws sesv2 list-suppressed-destinations` as CSV, and the file of a bulk import: address and BOUNCE or COMPLAINT. */
  ses: {
    title: 'Amazon SES',
    columns: ['email', 'reason', 'lastupdatetime'],
    classify: (cell) =>
      among(cell('reason'), { '': 'manual', BOUNCE: 'hard_bounce', COMPLAINT: 'spam_complaint' }, 'reason'),
  },
  /** The suppressions of a message stream: EmailAddress, SuppressionReason, Origin, CreatedAt. */
  postmark: {
    title: 'Postmark',
    columns: ['email', 'suppressionreason', 'origin', 'createdat'],
    classify: (cell) => {
      const manual = cell('origin').toLowerCase() === 'recipient' ? 'unsubscribe' : 'manual';
      const reasons = {
        HardBounce: 'hard_bounce',
        SpamComplaint: 'spam_complaint',
        ManualSuppression: manual,
      } as const;
      return among(cell('suppressionreason', 'reason'), { '': 'manual', ...reasons }, 'SuppressionReason');
    },
  },
  /** Three kinds of file: bounces have code and error, unsubscribes have tags, complaints have neither. */
  mailgun: {
    title: 'Mailgun',
    columns: ['address'],
    classify: (_cell, has) => {
      if (has('code') || has('error')) return 'hard_bounce';
      if (has('tags') || has('tag')) return 'unsubscribe';
      return has('createdat') ? 'spam_complaint' : 'manual';
    },
  },
  /**
   * Bounces and invalid addresses have a reason, spam reports an ip, unsubscribes neither. Blocks look like bounces, but their
   * replies are mostly temporary and about the sender.
   */
  sendgrid: {
    title: 'SendGrid',
    columns: ['email'],
    classify: (cell, has) => {
      if (has('ip')) return 'spam_complaint';
      if (/^4/.test(cell('status'))) return { fault: 'status is a temporary refusal, which is no suppression' };
      if (has('status') || has('reason')) return 'hard_bounce';
      return has('created') || has('createdat') ? 'unsubscribe' : 'manual';
    },
  },
  /** The list of suppressions: email, origin, created_at. */
  resend: {
    title: 'Resend',
    columns: ['email', 'origin', 'createdat'],
    classify: (cell) => {
      const origins = { bounce: 'hard_bounce', complaint: 'spam_complaint', manual: 'manual' } as const;
      return among(cell('origin', 'reason'), { '': 'manual', ...origins }, 'origin');
    },
  },
};

/**
 * Yields the lines of another service's CSV file. The time is proportional to the length of the text, so a caller
 * with a large one should yield to the event loop now and then. Never throws: a line that is no entry has a fault.
 */
export function* readForm(from: SuppressionForm, text: string): Generator<FormLine> {
  const form = FORMS[from];
  let columns: readonly string[] | undefined;
  for (const row of csvRows(text)) {
    const { line, end, fields } = row;
    if (fields?.every((field) => field === '')) {
      yield { line, end, entry: undefined };
      continue;
    }
    const head = columns ? undefined : headOf(row);
    columns ??= head ?? form.columns;
    yield { line, end, entry: head ? undefined : entryOf(form, columns, fields) };
  }
}

/** Normalized column names: `Email Address` and `email_address` are the same. A line with an address is not a header. */
function headOf({ fields }: CsvRow): readonly string[] | undefined {
  if (fields?.some((field) => field.includes('@'))) return undefined;
  const names = fields?.map((name) => name.toLowerCase().replace(/[^a-z]/g, ''));
  return names?.some((name) => ADDRESS_COLUMNS.includes(name)) ? names : undefined;
}

function entryOf(
  form: Form,
  columns: readonly string[],
  fields: readonly string[] | undefined,
): ListedAddress | { readonly fault: string } {
  if (!fields) return { fault: 'The line is not valid CSV: a quote is misplaced, or the line is too long' };
  const cell: Cell = (...names) => fields[columns.findIndex((name) => names.includes(name))]?.trim() ?? '';
  const email = unguarded(cell(...ADDRESS_COLUMNS));
  if (email === '') return { fault: 'The line has no address' };
  const listedAs = form.classify(cell, (name) => columns.includes(name));
  if (typeof listedAs === 'object') return listedAs;
  const notes = form.title === 'Waybill' ? cell('notes') : provenance(form.title, cell(...DATE_COLUMNS));
  return { email: email.slice(0, MAX_ADDRESS), listedAs, ...(notes !== '' && { notes: plainText(notes) }) };
}

function ownReason(reason: string): ListedAs | { readonly fault: string } {
  if (reason === 'soft_bounce') return { fault: 'reason soft_bounce ends by itself and cannot be imported' };
  const same = (value: ListedAs) => [value, value] as const;
  const reasons = ['spam_complaint', 'hard_bounce', 'blocklist', 'manual', 'unsubscribe'] as const;
  return among(reason, { '': 'manual', ...Object.fromEntries(reasons.map(same)) }, 'reason');
}

/** Finds a value, ignoring case and blanks: Postmark writes its values with and without blanks. */
function among(
  value: string,
  known: Readonly<Record<string, ListedAs>>,
  column: string,
): ListedAs | { readonly fault: string } {
  const plain = (name: string) => name.toLowerCase().replace(/\s/g, '');
  const found = Object.entries(known).find(([name]) => plain(name) === plain(value));
  if (found) return found[1];
  const expected = Object.keys(known).filter((name) => name !== '');
  return { fault: `${column} must be one of ${expected.join(', ')}` };
}

/** The note of an imported entry. It contains no text of the file, which may name people. */
function provenance(title: string, date: string): string {
  const day = /^\d{4}-\d\d-\d\d/.exec(date)?.[0];
  return day === undefined ? `from ${title}` : `from ${title}, listed on ${day}`;
}

function plainText(notes: string): string {
  return notes
    .replace(/\p{Cc}/gu, (sign) => (sign === '\n' || sign === '\t' ? sign : ' '))
    .slice(0, MAX_NOTES)
    .replace(/[\ud800-\udbff]$/, '');
}
