import { PARSING_LIMITS } from '../parsing-limits';

interface Field {
  /** In lower case. */
  readonly name: string;
  /** Unfolded and trimmed, one character a byte. */
  value: string;
}

/** The fields of one header in their order. Names are given in lower case. */
export class HeaderFields {
  constructor(private readonly fields: readonly Field[]) {}

  get size(): number {
    return this.fields.length;
  }

  first(name: string): string | undefined {
    return this.fields.find((field) => field.name === name)?.value;
  }

  all(name: string): string[] {
    return this.fields.filter((field) => field.name === name).map((field) => field.value);
  }

  has(...names: readonly string[]): boolean {
    return this.fields.some((field) => names.includes(field.name));
  }
}

export interface HeaderBlock {
  readonly fields: HeaderFields;
  /** What follows the empty line. */
  readonly rest: string;
  /** True when the header went on beyond the limit of lines. */
  readonly cut: boolean;
}

const NAME = /^([!-9;-~]{1,100})[ \t]{0,20}:/;

/**
 * Reads a header (RFC 5322 section 2.2) up to its empty line, with CRLF or LF. Lines that are no field are passed over,
 * as strangers' software writes many of them.
 *
 * @param text one character a byte
 */
export function readHeader(text: string): HeaderBlock {
  const fields: Field[] = [];
  let at = 0;
  for (let count = 0; count < PARSING_LIMITS.headerLines && at < text.length; count++) {
    const next = text.indexOf('\n', at);
    const end = next === -1 ? text.length : next;
    const line = text.slice(at, Math.min(end, at + PARSING_LIMITS.fieldLength));
    at = end + 1;
    if (line.trim() === '') return { fields: new HeaderFields(fields), rest: text.slice(at), cut: false };
    addLine(fields, line);
  }
  return { fields: new HeaderFields(fields), rest: text.slice(at), cut: at < text.length };
}

function addLine(fields: Field[], line: string): void {
  const last = fields.at(-1);
  if (line.startsWith(' ') || line.startsWith('\t')) {
    if (last) last.value = `${last.value} ${line.trim()}`.slice(0, PARSING_LIMITS.fieldLength);
    return;
  }
  const name = NAME.exec(line);
  if (name?.[1]) fields.push({ name: name[1].toLowerCase(), value: line.slice(name[0].length).trim() });
}
