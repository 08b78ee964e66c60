const END_OF_DATA = Buffer.from('\r\n.\r\n');
const LONE_DOT = END_OF_DATA.subarray(2);

/** Collects one message up to its final dot, however the bytes are split into chunks. */
export class SmtpSinkBody {
  /** Set once the final dot has arrived: the message, still dot-stuffed. */
  stuffed: Buffer | undefined;
  private readonly parts: Buffer[] = [];
  private isAtStart = true;

  /** True until the first byte of the message has been taken. */
  get isEmpty(): boolean {
    return this.isAtStart;
  }

  /** Takes the bytes of the message and returns the rest; keeps the last bytes back, as the end may be split. */
  read(input: Buffer): Buffer {
    if (this.isAtStart) {
      if (input.length < LONE_DOT.length) return input;
      if (input.subarray(0, LONE_DOT.length).equals(LONE_DOT)) return this.finish(input, 0, LONE_DOT.length);
      this.isAtStart = false;
    }
    const end = input.indexOf(END_OF_DATA);
    if (end !== -1) return this.finish(input, end + 2, end + END_OF_DATA.length);
    const taken = Math.max(0, input.length - END_OF_DATA.length + 1);
    this.parts.push(input.subarray(0, taken));
    return input.subarray(taken);
  }

  private finish(input: Buffer, end: number, next: number): Buffer {
    const last = input.subarray(0, end);
    this.stuffed = this.parts.length === 0 ? last : Buffer.concat([...this.parts, last]);
    return input.subarray(next);
  }
}

/** The message without dot-stuffing. */
export function unstuff(stuffed: Buffer): Buffer {
  return Buffer.from(stuffed.toString('latin1').replace(/(^|\r\n)\./g, '$1'), 'latin1');
}
