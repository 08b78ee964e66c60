import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { endOfPiece } from './fair-turns';

/** Characters that are written in one turn of the event loop: this takes some milliseconds at most. */
const PIECE = 64 * 1024;
const QUOTE = Buffer.from('"');

/**
 * The JSON of a value that holds long texts, which senders from outside may have written. In one piece, 5 MiB of control characters hold up the
 * event loop for a tenth of a second, as they become 30.
 */
export async function jsonInTurns(value: unknown): Promise<Buffer> {
  const texts: string[] = [];
  // Unknown to all senders, so that no text holds it.
  const mark = randomUUID();
  const frame = JSON.stringify(value, (_name, inner: unknown) => {
    if (typeof inner !== 'string' || inner.length <= PIECE) return inner;
    texts.push(inner);
    return mark;
  });
  const [beginning = '', ...rests] = frame.split(`"${mark}"`);
  const written = [Buffer.from(beginning)];
  for (const [index, rest] of rests.entries()) {
    const text = await inTurns(texts[index] ?? '', (piece) => Buffer.from(JSON.stringify(piece).slice(1, -1)));
    written.push(QUOTE, ...text, QUOTE, Buffer.from(rest));
  }
  return Buffer.concat(written);
}

/** The JSON of a list whose items are long together, although each is short: a hundred with their bodies take a tenth of a second in one piece. */
export async function listInTurns({ data, ...rest }: { readonly data: readonly unknown[] }): Promise<Buffer> {
  const end = JSON.stringify(rest).slice(1);
  return Buffer.concat([
    Buffer.from('{"data":['),
    ...(await itemsInTurns(data)),
    Buffer.from(end === '}' ? ']}' : `],${end}`),
  ]);
}

/** The JSON of an email, whose events are such a list: a server that refuses 50 recipients for days fills them with 11 MB of replies. */
export async function eventfulInTurns({ events, ...rest }: { readonly events: readonly unknown[] }): Promise<Buffer> {
  const frame = JSON.stringify({ data: { ...rest, events: [] } });
  const end = ']}}';
  return Buffer.concat([Buffer.from(frame.slice(0, -end.length)), ...(await itemsInTurns(events)), Buffer.from(end)]);
}

/** The JSON of items, with commas between them. */
async function itemsInTurns(items: readonly unknown[]): Promise<Buffer[]> {
  const written: Buffer[] = [];
  let inTurn = 0;
  for (const [index, item] of items.entries()) {
    if (inTurn > PIECE) {
      await nextTurn();
      inTurn = 0;
    }
    const json = Buffer.from(`${index > 0 ? ',' : ''}${JSON.stringify(item)}`);
    inTurn += json.length;
    written.push(json);
  }
  return written;
}

/**
 * Writes a text piece by piece, each in a turn of the event loop.
 *
 * @param tagLength of markup, how many characters from a `<` on must be in one piece; 0: any two may be parted
 */
export async function inTurns<Written>(
  text: string,
  write: (piece: string) => Written,
  tagLength = 0,
): Promise<Written[]> {
  const written: Written[] = [];
  for (let at = 0, end: number; at < text.length; at = end) {
    if (at > 0) await nextTurn();
    end = endOfPiece(text, at, PIECE);
    const tag = tagLength > 0 && end < text.length ? text.lastIndexOf('<', end - 1) : -1;
    if (end - tag < tagLength && tag > at) end = tag;
    written.push(write(text.slice(at, end)));
  }
  return written;
}
