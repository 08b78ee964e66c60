/** pg_type.dat: the type `text`. */
const TEXT_OID = 25;
const FIELD_BYTES = 4;

/**
 * A `text[]` parameter that travels in Postgres' binary form (array_recv), for columns of long texts: nothing in them has to
 * be quoted, nor read character by character.
 */
export class TextArray {
  constructor(readonly values: readonly (string | null)[]) {}

  /** What the driver asks of a value for its wire form; bytes go out as binary. */
  toPostgres(): Buffer {
    const lengths = this.values.map((value) => (value === null ? -1 : Buffer.byteLength(value)));
    const header = headerOf(this.values.length, lengths.includes(-1));
    const fields = header.length + this.values.length;
    const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + Math.max(0, length), fields * FIELD_BYTES));
    let at = header.reduce((offset, field) => bytes.writeInt32BE(field, offset), 0);
    this.values.forEach((value, index) => {
      at = bytes.writeInt32BE(lengths[index] as number, at);
      if (value !== null) at += bytes.write(value, at);
    });
    return bytes;
  }
}

/** Dimensions, nulls, the elements' type, then length and first index of each dimension; an empty array has none. */
function headerOf(length: number, hasNulls: boolean): number[] {
  const common = [length === 0 ? 0 : 1, hasNulls ? 1 : 0, TEXT_OID];
  return length === 0 ? common : [...common, length, 1];
}
