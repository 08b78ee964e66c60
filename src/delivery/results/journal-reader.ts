import { createReadStream } from 'node:fs';
import type { Settlement } from '../ports/outcome';

/** A journal of an earlier release may be larger than a string can be, or than the memory. */
const PIECE_BYTES = 1024 * 1024;
/** Many times the longest line, of a reply of 64 KiB. What is longer was not written by a journal: a power failure leaves zeros. */
const MAX_LINE_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/**
 * What a file of the journal holds, a part after the other; nothing when there is no such file.
 * @throws the operating system's error: it holds something that was not read
 */
export async function* readJournal(path: string): AsyncGenerator<Settlement[]> {
  let rest = Buffer.alloc(0);
  try {
    for await (const piece of createReadStream(path, { highWaterMark: PIECE_BYTES }) as AsyncIterable<Buffer>) {
      const bytes = Buffer.concat([rest, piece]);
      const end = bytes.lastIndexOf(NEWLINE) + 1;
      yield parseLines(bytes.toString('utf8', 0, end));
      rest = bytes.length - end > MAX_LINE_BYTES ? Buffer.alloc(0) : bytes.subarray(end);
    }
  } catch (error) {
    // Another process has settled it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  yield parseLines(rest.toString());
}

/** A line cut off by the process's end is left out. */
function parseLines(text: string): Settlement[] {
  return text.split('\n').flatMap((line) => {
    try {
      const value: unknown = line === '' ? undefined : JSON.parse(line, reviveTimes);
      return isSettlement(value) ? [value] : [];
    } catch {
      return [];
    }
  });
}

/** Anything else could never be committed. */
function isSettlement(value: unknown): value is Settlement {
  return typeof value === 'object' && value !== null && 'claim' in value && 'outcomes' in value;
}

function reviveTimes(name: string, value: unknown): unknown {
  return typeof value === 'string' && name.endsWith('At') && TIMESTAMP.test(value) ? new Date(value) : value;
}
