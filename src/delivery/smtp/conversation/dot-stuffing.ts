import { OUTGOING, piecesInTurns } from '../../../common/async/fair-turns';
import { AppError } from '../../../common/errors/app-error';

const DOT = 0x2e;
const CR = 0x0d;
const LF = 0x0a;
const CRLF = Buffer.from('\r\n');
const END_OF_DATA = Buffer.from('\r\n.\r\n');
const LINE_FEED_DOT = Buffer.from('\n.');
const CARRIAGE_RETURN_DOT = Buffer.from('\r.');

/**
 * The message with every leading dot doubled (RFC 5321 section 4.5.2); the same buffer when no line starts with one.
 *
 * @throws AppError when a dot follows a bare CR or bare LF: some receivers take that for the end of the message, which
 * would let its author smuggle commands. The composer normalises line ends, so it is a fault on this side.
 */
export function stuffDots(message: Buffer): Buffer {
  if (message.includes(CARRIAGE_RETURN_DOT)) throw bareLineEnd();
  const dots = countLeadingDots(message);
  if (dots === 0) return message;
  const stuffed = Buffer.allocUnsafe(message.length + dots);
  let length = 0;
  let before = LF;
  // Byte by byte: a message may have a dot in every third.
  for (let at = 0; at < message.length; at += 1) {
    const byte = message[at] as number;
    if (byte === DOT && before === LF) stuffed[length++] = DOT;
    stuffed[length++] = byte;
    before = byte;
  }
  return stuffed;
}

/** Searched or copied in one turn of the event loop: a fraction of a millisecond. */
const PIECE = 256 * 1024;

/** The same of a message of any size, with turns of the event loop in between: 25 MiB take some 50 ms each time. @throws AppError */
export async function stuffDotsInTurns(message: Buffer): Promise<Buffer> {
  if (message.length <= PIECE) return stuffDots(message);
  let dots = 0;
  for await (const { start, end } of piecesInTurns(message.length, PIECE, OUTGOING)) {
    dots += countStuffed(message, start, end);
  }
  if (dots === 0) return message;
  const stuffed = Buffer.allocUnsafe(message.length + dots);
  let length = 0;
  for await (const { start, end } of piecesInTurns(message.length, PIECE, OUTGOING)) {
    for (let at = start; at < end; at += 1) {
      const byte = message[at] as number;
      if (byte === DOT && (at === 0 || message[at - 1] === LF)) stuffed[length++] = DOT;
      stuffed[length++] = byte;
    }
  }
  return stuffed;
}

/** Dots of a range that begin a line. @throws AppError */
function countStuffed(message: Buffer, start: number, end: number): number {
  let dots = 0;
  for (let at = start; at < end; at += 1) {
    if (message[at] !== DOT) continue;
    const before = at === 0 ? LF : message[at - 1];
    if (before === CR || (before === LF && at > 0 && message[at - 2] !== CR)) throw bareLineEnd();
    if (before === LF) dots += 1;
  }
  return dots;
}

/** Stuffed message and end-of-data sequence in one buffer, for a single write. */
export function withFinalDot(stuffed: Buffer): Buffer {
  return Buffer.concat([stuffed, finalDot(stuffed)]);
}

/** What ends the data: CRLF.CRLF, of which the message may already have brought the first CRLF. */
export function finalDot(stuffed: Buffer): Buffer {
  const endsLine = stuffed.length === 0 || stuffed.subarray(-2).equals(CRLF);
  return endsLine ? END_OF_DATA.subarray(2) : END_OF_DATA;
}

/** Those that begin a line. @throws AppError */
function countLeadingDots(message: Buffer): number {
  let dots = message[0] === DOT ? 1 : 0;
  const first = message.indexOf(LINE_FEED_DOT);
  if (first === -1) return dots;
  for (let at = first + 1; at < message.length; at += 1) {
    if (message[at] !== DOT || message[at - 1] !== LF) continue;
    if (message[at - 2] !== CR) throw bareLineEnd();
    dots += 1;
  }
  return dots;
}

function bareLineEnd(): AppError {
  return new AppError('internal_error', 'A message with bare line ends cannot be sent');
}
