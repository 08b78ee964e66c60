import type { FieldRange, ParsedHeader } from './header-fields';

/**
 * Signed once more than they occur, so that none can be added under a signature that still verifies (RFC 6376 section
 * 8.15): a second From or Subject is what a reader would be shown.
 */
const ALWAYS = ['From', 'To', 'Subject', 'Date', 'Reply-To', 'Message-ID', 'MIME-Version', 'Content-Type'];
/** The same once they occur; a forwarder may add the absent ones. */
const IF_PRESENT = [
  'Cc',
  'Content-Transfer-Encoding',
  'In-Reply-To',
  'References',
  'List-Id',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'Feedback-ID',
];

export interface SignedFields {
  /** For `h=`. */
  readonly names: readonly string[];
  /** In the order of `names`; a name beyond the last occurrence signs nothing (RFC 6376 section 5.4). */
  readonly ranges: readonly FieldRange[];
}

/** Chooses the fields to sign. Several of one name are taken from the last up (RFC 6376 section 5.4.2). */
export function fieldsToSign({ fields }: ParsedHeader): SignedFields {
  const present = IF_PRESENT.filter((name) => fields.has(name.toLowerCase()));
  const names: string[] = [];
  const ranges: FieldRange[] = [];
  for (const name of [...ALWAYS, ...present]) {
    const occurrences = fields.get(name.toLowerCase()) ?? [];
    for (const range of occurrences.toReversed()) {
      names.push(name);
      ranges.push(range);
    }
    names.push(name);
  }
  return { names, ranges };
}
