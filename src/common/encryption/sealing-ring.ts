import { deriveSealingKey, type SealingKey } from './key-ring';
import { keyIdOf, open, seal, SealedBoxError } from './sealed-box';

/** Seals with one key and opens with any of several, so that a master key can be changed while both are in use. */
export class SealingRing {
  private readonly current: SealingKey;
  private readonly keys: ReadonlyMap<number, SealingKey>;

  /** @param masters those that open besides the one that seals */
  constructor(purpose: string, master: Buffer, ...masters: readonly Buffer[]) {
    this.current = deriveSealingKey(master, purpose);
    const others = masters.map((other) => deriveSealingKey(other, purpose));
    this.keys = new Map([...others, this.current].map((key) => [key.id, key]));
  }

  seal(plain: Buffer, context: string): Buffer {
    return seal(plain, this.current, context);
  }

  /** @throws SealedBoxError when no key of the ring has sealed it, it belongs elsewhere, or it has been altered */
  open(sealed: Buffer, context: string): Buffer {
    const key = this.keyOf(sealed);
    if (!key) throw new SealedBoxError('Sealed with another key');
    return open(sealed, key, context);
  }

  /** Whether a key of the ring has sealed it, by the id that the box names. */
  knows(sealed: Buffer): boolean {
    return this.keyOf(sealed) !== undefined;
  }

  /** Whether it would be sealed with the same key today. */
  isCurrent(sealed: Buffer): boolean {
    return this.keyOf(sealed) === this.current;
  }

  private keyOf(sealed: Buffer): SealingKey | undefined {
    const id = keyIdOf(sealed);
    return id === undefined ? undefined : this.keys.get(id);
  }
}
