import { piecesInTurns } from '../async/fair-turns';

const KIB = 1024;
/** Parts of this size cost little beside their bytes. */
const KEPT = 16 * KIB;
const SEGMENT = { least: 4 * KIB, most: 64 * KIB };
/** Copied in one turn of the event loop. */
const TURN = 2 * KIB * KIB;

/**
 * A body as it arrives. Small pieces are copied together: a Buffer costs more than a hundred bytes, so a body in single bytes
 * would take a hundred times its size.
 */
export class BodyParts {
  private parts: Buffer[] = [];
  private total = 0;
  /** The last part, while there is room in it. */
  private segment: { readonly bytes: Buffer; used: number } | undefined;

  get bytes(): number {
    return this.total;
  }

  /** In how many pieces it is kept. */
  get count(): number {
    return this.parts.length + (this.segment ? 1 : 0);
  }

  add(chunk: Buffer): void {
    if (chunk.length >= KEPT) {
      this.endSegment();
      this.parts.push(chunk);
    } else {
      for (let at = 0; at < chunk.length;) at += this.copy(chunk, at);
    }
    this.total += chunk.length;
  }

  /** All of it; a large one is put together in the holder's turns. Nothing is kept here. */
  async join(holder: string): Promise<Buffer> {
    this.endSegment();
    const { parts, total } = this;
    this.parts = [];
    if (parts.length === 1) return parts[0] as Buffer;
    const whole = Buffer.allocUnsafe(total);
    let copied = 0;
    for await (const { end } of piecesInTurns(total, TURN, holder)) {
      while (copied < end) {
        const part = parts.shift() as Buffer;
        copied += part.copy(whole, copied);
      }
    }
    return whole;
  }

  private copy(chunk: Buffer, from: number): number {
    this.segment ??= { bytes: Buffer.allocUnsafeSlow(this.nextSize()), used: 0 };
    const { bytes, used } = this.segment;
    const copied = chunk.copy(bytes, used, from);
    this.segment.used += copied;
    if (this.segment.used === bytes.length) this.endSegment();
    return copied;
  }

  /** A small body takes little, a large one few. */
  private nextSize(): number {
    return Math.min(SEGMENT.most, Math.max(SEGMENT.least, this.total));
  }

  private endSegment(): void {
    if (!this.segment) return;
    this.parts.push(this.segment.bytes.subarray(0, this.segment.used));
    this.segment = undefined;
  }
}

/** The parts as one; a large whole is copied in the holder's turns: ten megabytes that were not used before take some milliseconds. */
export async function concatInTurns(parts: readonly Buffer[], holder: string): Promise<Buffer> {
  const total = parts.reduce((sum, { length }) => sum + length, 0);
  if (total <= TURN) return Buffer.concat(parts, total);
  const whole = Buffer.allocUnsafe(total);
  let [length, index, from] = [0, 0, 0];
  for await (const { end } of piecesInTurns(total, TURN, holder)) {
    while (length < end) {
      const part = parts[index] as Buffer;
      const copied = part.copy(whole, length, from, from + end - length);
      length += copied;
      from += copied;
      if (from < part.length) continue;
      index += 1;
      from = 0;
    }
  }
  return whole;
}
