const HEADER_BYTES = 12;
const QUESTION_BYTES = 4;
/** Type, class, time to live, length of the data. */
const RECORD_BYTES = 10;
/** Of the length byte of a label: both mean a pointer, which ends a name (RFC 1035 section 4.1.4). */
const POINTER = 0xc0;

/** A reply with its first answers only, and how many there were. */
export interface ShortReply {
  readonly bytes: Buffer;
  readonly answers: number;
}

/**
 * A DNS message without its authority and additional sections and with at most so many answers, by their positions alone: 16 KiB of
 * compressed names take a decoder 75 ms, as each of a thousand records can point to a name of 127 labels.
 * @throws RangeError for a message that ends early
 */
export function shortenReply(message: Buffer, mostAnswers: number): ShortReply {
  const answers = message.readUInt16BE(6);
  let at = HEADER_BYTES;
  for (let left = message.readUInt16BE(4); left > 0; left -= 1) at = endOfName(message, at) + QUESTION_BYTES;
  const kept = Math.min(answers, mostAnswers);
  for (let left = kept; left > 0; left -= 1) {
    const name = endOfName(message, at);
    at = name + RECORD_BYTES + message.readUInt16BE(name + RECORD_BYTES - 2);
  }
  if (at > message.length) throw new RangeError('EBADRESP');
  const bytes = Buffer.from(message.subarray(0, at));
  bytes.writeUInt16BE(kept, 6);
  bytes.writeUInt32BE(0, 8);
  return { bytes, answers };
}

function endOfName(message: Buffer, start: number): number {
  let at = start;
  for (;;) {
    const length = message.readUInt8(at);
    if (length >= POINTER) return at + 2;
    if (length === 0) return at + 1;
    at += 1 + length;
  }
}
