import { addressKey } from '../../../common/mail-address';

export const REDACTED = '[redacted]';

/** What may stand on either side of an @ in any text, percent-encoded text of a URL too. */
const WORD = '[^\\s<>()[\\]{}:;,"\'`|=&?#/\\\\@]';
/** It begins where a word begins, so that a long word is looked through once. */
const ADDRESS = new RegExp(`(?<!${WORD})${WORD}+(?:@|%40)${WORD}+`, 'giu');
const FINAL_SIGNS = /[.!]+$/;

/** One address as it may be shown to the subject: another person's is redacted. */
export function redactAddress(address: string, subject: string): string {
  return addressKey(address) === addressKey(subject) ? address : REDACTED;
}

/** A JSON value in which every address but the subject's is redacted, wherever it stands in a text. */
export function redactOthers(value: unknown, subject: string): unknown {
  if (typeof value === 'string') return redactText(value, subject);
  if (Array.isArray(value)) return value.map((element) => redactOthers(element, subject));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, redactOthers(field, subject)]));
}

function redactText(text: string, subject: string): string {
  return text.replace(ADDRESS, (found) => {
    const written = found.replace(FINAL_SIGNS, '');
    return redactAddress(decode(written), subject) === REDACTED ? REDACTED : found;
  });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
