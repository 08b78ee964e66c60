/** Where a reader is in a number (RFC 8259, section 6), by the byte that comes next: 1 for the digits from 1 to 9. */
const GRAMMAR = {
  start: { '-': 'minus', '0': 'zero', '1': 'whole' },
  minus: { '0': 'zero', '1': 'whole' },
  zero: { '.': 'point', e: 'mark' },
  whole: { '0': 'whole', '1': 'whole', '.': 'point', e: 'mark' },
  point: { '0': 'fraction', '1': 'fraction' },
  fraction: { '0': 'fraction', '1': 'fraction', e: 'mark' },
  mark: { '+': 'sign', '-': 'sign', '0': 'exponent', '1': 'exponent' },
  sign: { '0': 'exponent', '1': 'exponent' },
  exponent: { '0': 'exponent', '1': 'exponent' },
} as const satisfies Record<string, Readonly<Partial<Record<Kind, string>>>>;
const ENDS: ReadonlySet<State | undefined> = new Set(['zero', 'whole', 'fraction', 'exponent']);

type State = keyof typeof GRAMMAR;
type Kind = '-' | '+' | '.' | '0' | '1' | 'e';

/** Follows a number whose value is not wanted, byte by byte: one of megabytes is no long piece of work then. */
export class JsonNumber {
  private state: State | undefined = 'start';

  /** Whether what has been read is a number. */
  get isWhole(): boolean {
    return ENDS.has(this.state);
  }

  /** @param byte one that `isOfNumber` */
  read(byte: number): void {
    const next: Partial<Record<Kind, State>> = this.state === undefined ? {} : GRAMMAR[this.state];
    this.state = next[kindOf(byte)];
  }
}

/** Digits, signs, the point and the exponent's letter. */
export function isOfNumber(byte: number | undefined): byte is number {
  if (byte === undefined) return false;
  return (byte >= 0x30 && byte <= 0x39) || byte === 0x2d || byte === 0x2b || byte === 0x2e || (byte | 0x20) === 0x65;
}

function kindOf(byte: number): Kind {
  if (byte > 0x30 && byte <= 0x39) return '1';
  if (byte === 0x30) return '0';
  if (byte === 0x2e) return '.';
  if (byte === 0x2d) return '-';
  return byte === 0x2b ? '+' : 'e';
}
