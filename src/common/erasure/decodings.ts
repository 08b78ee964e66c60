import { decodedRuns, type Occurrence, type Runs } from './encoded-runs';
import { joinedReading, type Reading, readings } from './readings';

/** Encodings within each other that are undone before something is looked for, in whatever spelling it has then. */
export const DEPTH = 2;

/** What a text has come from: `guess` may have been decoded although it was not encoded, `bytes` may be no text. */
export type Origin = 'text' | 'guess' | 'bytes';

/** What is looked for. */
export interface Sought extends Runs {
  /** What is shorter does not hold it. */
  readonly minBytes: number;
  /** Where it stands in a text as it is, or in a spelling of its own. */
  spelled(text: string, origin: Origin): Iterable<Occurrence>;
}

/** Where something stands in a text, or is within what is encoded there. One may be in another, and they have no order. */
export function* occurrencesIn(
  text: string,
  sought: Sought,
  depth = DEPTH,
  origin: Origin = 'text',
): Generator<Occurrence> {
  if (text.length < sought.minBytes) return;
  yield* sought.spelled(text, origin);
  if (depth > 0) yield* occurrencesWithin(text, sought, depth, origin);
}

/** Those that are encoded in another way than by a spelling. */
export function* occurrencesWithin(
  text: string,
  sought: Sought,
  depth = DEPTH,
  origin: Origin = 'text',
): Generator<Occurrence> {
  const holdsBytes = (decoded: string) => holds(decoded, sought, depth - 1, 'bytes');
  yield* decodedRuns(text, sought, holdsBytes);
  const joined = joinedReading(text);
  if (joined) yield* inSource(joined, decodedRuns(joined.text, sought, holdsBytes));
  for (const reading of readings(text)) {
    const readAs = reading.isGuess && origin === 'text' ? 'guess' : origin;
    yield* inSource(reading, occurrencesIn(reading.text, sought, depth - 1, readAs));
  }
}

function* inSource(reading: Reading, occurrences: Iterable<Occurrence>): Generator<Occurrence> {
  for (const occurrence of occurrences) {
    const source = reading.sourceOf(occurrence);
    if (source) yield source;
  }
}

/** Whether it is anywhere in a text. */
export function holds(text: string, sought: Sought, depth = DEPTH, origin: Origin = 'text'): boolean {
  for (const _found of occurrencesIn(text, sought, depth, origin)) return true;
  return false;
}
