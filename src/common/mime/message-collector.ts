/** Of a message whose client does not say how large it is. */
const FIRST_BYTES = 16 * 1024;
/** The client may count line ends or dots in another way. */
const MARGIN_BYTES = 1024;

/** A message in one piece, of which there are never two: as large as the client says, else twice as large whenever it is full. */
export class MessageCollector {
  private bytes: Buffer;
  private length = 0;

  /** @param expected bytes; 0 when unknown */
  constructor(expected: number) {
    this.bytes = Buffer.allocUnsafeSlow(expected > 0 ? expected + MARGIN_BYTES : FIRST_BYTES);
  }

  add(chunk: Buffer): void {
    if (this.length + chunk.length > this.bytes.length) this.grow(this.length + chunk.length);
    this.length += chunk.copy(this.bytes, this.length);
  }

  /** The message so far. */
  take(): Buffer {
    return this.bytes.subarray(0, this.length);
  }

  private grow(needed: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.bytes.length));
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }
}
