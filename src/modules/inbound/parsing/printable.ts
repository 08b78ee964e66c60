/** Controls, lone surrogates, private and unassigned characters, every kind of space, and what reorders text. */
const UNFIT = /[\p{C}\p{Z}]{1,100}/gu;

/** A stranger's text as one line of at most `maxLength` characters; undefined when nothing is left. */
export function printable(text: string | undefined, maxLength: number): string | undefined {
  const line = text
    ?.slice(0, maxLength * 4)
    .replace(UNFIT, ' ')
    .trim()
    .slice(0, maxLength)
    // Cutting may halve a surrogate pair.
    .replace(/[\p{Cs}\s]{1,2}$/u, '');
  return line === '' ? undefined : line;
}
