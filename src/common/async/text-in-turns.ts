import { randomUUID } from 'node:crypto';
import { endOfPiece, EVENT_LOOP } from './fair-turns';

/** Characters that are written in one turn of the event loop: this takes some milliseconds at most. */
const PIECE = 64 * 1024;
const QUOTE = Buffer.from('"');
/** Work that no client waits for. */
const BACKGROUND = 'background';

/** For whom a text is written. */
export interface Reader {
  /** In whose turns. */
  readonly holder: string;
  /** Is told how many bytes have been written so far. What it throws ends the writing. */
  readonly onWritten?: (bytes: number) => void;
}

/** What has been written, in pieces: joining them takes as long as writing them, since memory that is new is written to. */
class Pieces {
  readonly all: Buffer[] = [];
  private bytes = 0;

  constructor(private readonly reader: Reader) {}

  add(piece: Buffer): void {
    this.all.push(piece);
    this.bytes += piece.length;
    this.reader.onWritten?.(this.bytes);
  }
}

/**
 * The JSON of a value that holds long texts, which senders from outside may have written. In one piece, 5 MiB of control characters hold up the
 * event loop for a tenth of a second, as they become 30.
 */
export async function jsonPieces(value: unknown, reader: Reader): Promise<Buffer[]> {
  const texts: string[] = [];
  // Unknown to all senders, so that no text holds it.
  const mark = randomUUID();
  const frame = JSON.stringify(value, (_name, inner: unknown) => {
    if (typeof inner !== 'string' || inner.length <= PIECE) return inner;
    texts.push(inner);
    return mark;
  });
  const [beginning = '', ...rests] = frame.split(`"${mark}"`);
  const written = new Pieces(reader);
  written.add(Buffer.from(beginning));
  for (const [index, rest] of rests.entries()) {
    written.add(QUOTE);
    await inTurns(
      texts[index] ?? '',
      (piece) => written.add(Buffer.from(JSON.stringify(piece).slice(1, -1))),
      reader.holder,
    );
    written.add(Buffer.from(`"${rest}`));
  }
  return written.all;
}

/** The same as one Buffer, for background work. */
export async function jsonInTurns(value: unknown): Promise<Buffer> {
  return Buffer.concat(await jsonPieces(value, { holder: BACKGROUND }));
}

/** The JSON of a list whose items are long together, although each is short: a hundred with their bodies take a tenth of a second in one piece. */
export async function listPieces(
  { data, ...rest }: { readonly data: readonly unknown[] },
  reader: Reader,
): Promise<Buffer[]> {
  const end = JSON.stringify(rest).slice(1);
  return itemPieces(['{"data":[', data, end === '}' ? ']}' : `],${end}`], reader);
}

/** The JSON of an email, whose events are such a list: a server that refuses 50 recipients for days fills them with 11 MB of replies. */
export async function eventfulPieces(
  { events, ...rest }: { readonly events: readonly unknown[] },
  reader: Reader,
): Promise<Buffer[]> {
  const frame = JSON.stringify({ data: { ...rest, events: [] } });
  const end = ']}}';
  return itemPieces([frame.slice(0, -end.length), events, end], reader);
}

/** The JSON of items with commas between them, and what is before and behind them. */
async function itemPieces(
  [before, items, behind]: readonly [string, readonly unknown[], string],
  reader: Reader,
): Promise<Buffer[]> {
  const written = new Pieces(reader);
  let piece = before;
  for (const [index, item] of items.entries()) {
    if (piece.length > PIECE) {
      written.add(Buffer.from(piece));
      piece = '';
      await EVENT_LOOP.next(reader.holder);
    }
    piece += `${index > 0 ? ',' : ''}${JSON.stringify(item)}`;
  }
  written.add(Buffer.from(`${piece}${behind}`));
  return written.all;
}

/**
 * Writes a text piece by piece, each in a turn of the event loop.
 *
 * @param holder in whose turns
 * @param tagLength of markup, how many characters from a `<` on must be in one piece; 0: any two may be parted
 */
export async function inTurns<Written>(
  text: string,
  write: (piece: string) => Written,
  holder = BACKGROUND,
  tagLength = 0,
): Promise<Written[]> {
  const written: Written[] = [];
  for (let at = 0, end: number; at < text.length; at = end) {
    if (text.length > PIECE) await EVENT_LOOP.next(holder);
    end = endOfPiece(text, at, PIECE);
    const tag = tagLength > 0 && end < text.length ? text.lastIndexOf('<', end - 1) : -1;
    if (end - tag < tagLength && tag > at) end = tag;
    written.push(write(text.slice(at, end)));
  }
  return written;
}
