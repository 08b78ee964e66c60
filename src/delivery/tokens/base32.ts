const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const VALUES = new Int8Array(128).fill(-1);
for (let value = 0; value < 32; value += 1) {
  VALUES[ALPHABET.charCodeAt(value)] = value;
  VALUES[ALPHABET.toUpperCase().charCodeAt(value)] = value;
}

/** RFC 4648 section 6 in lower case, without padding: survives servers that change the case of a local part. */
export function toBase32(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let held = 0;
  for (const byte of bytes) {
    held = (held << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET.charAt((held >>> bits) & 31);
    }
    held &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + ALPHABET.charAt((held << (5 - bits)) & 31);
}

/** Reads either case; undefined for any other character and for spellings that `toBase32` never writes. */
export function fromBase32(text: string): Buffer | undefined {
  const bytes = Buffer.alloc(Math.floor((text.length * 5) / 8));
  let bits = 0;
  let held = 0;
  let length = 0;
  for (let index = 0; index < text.length; index += 1) {
    const value = VALUES[text.charCodeAt(index)] ?? -1;
    if (value < 0) return undefined;
    held = (held << 5) | value;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes[length++] = held >>> bits;
    held &= (1 << bits) - 1;
  }
  return bits < 5 && held === 0 ? bytes : undefined;
}
