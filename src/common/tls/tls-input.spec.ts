import { Duplex } from 'node:stream';
import { SharedTurns } from '../async/shared-turns';
import { tlsInputInTurns } from './tls-input';

const KIB = 1024;

/** A stream below TLS, whose bytes each take the event loop so many microseconds of a clock of its own. */
function scene(microsecondsPerByte: number) {
  let clockMs = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => clockMs);
  const turns = new SharedTurns(() => clockMs);
  let reads = 0;
  const stream = new Duplex({ read: () => void (reads += 1), write: (_chunk, _encoding, done) => done() });
  const held = tlsInputInTurns(stream, 'holder', turns);
  const pieces: Buffer[] = [];
  stream.on('data', (bytes: Buffer) => {
    pieces.push(bytes);
    clockMs += (bytes.length * microsecondsPerByte) / 1_000;
  });
  return { stream, held, turns, pieces, sizes: () => pieces.map(({ length }) => length), reads: () => reads };
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Waits, without a clock: each turn hands something on. */
async function until(isDone: () => boolean): Promise<void> {
  for (let turn = 0; !isDone() && turn < 1_000; turn += 1) await nextTurn();
  expect(isDone()).toBe(true);
}

afterEach(() => jest.restoreAllMocks());

describe('what a connection receives for TLS', () => {
  it('is handed on at once, in larger and larger pieces, when it takes little', async () => {
    const { stream, sizes } = scene(0);
    await nextTurn();
    stream.push(Buffer.alloc(64 * KIB));
    expect(sizes()).toEqual([1, 2, 4, 8, 8, 8, 8, 8, 8, 8, 1].map((kib) => kib * KIB));
    stream.push(Buffer.alloc(100));
    expect(sizes().at(-1)).toBe(100);
  });

  it('is handed on in small pieces after many short ones that took little', async () => {
    const { stream, sizes } = scene(0);
    await nextTurn();
    for (let count = 0; count < 20; count += 1) stream.push(Buffer.alloc(100));
    stream.push(Buffer.alloc(4 * KIB));
    expect(sizes().slice(20)).toEqual([KIB, 2 * KIB, KIB]);
  });

  it('is handed on before what ends the connection', async () => {
    const { stream, pieces, held } = scene(2);
    await nextTurn();
    stream.push(Buffer.alloc(8 * KIB));
    held.afterHeld(() => stream.destroy());
    expect(stream.destroyed).toBe(false);
    await until(() => stream.destroyed);
    expect(Buffer.concat(pieces)).toHaveLength(8 * KIB);
  });

  it('is handed on in small pieces and several turns when it takes much, and nothing is read meanwhile', async () => {
    // 2 ms for a kilobyte: a flood of changed keys.
    const { stream, sizes, reads } = scene(2);
    await nextTurn();
    const before = reads();
    expect(stream.push(Buffer.alloc(64 * KIB))).toBe(false);
    expect(sizes()).toEqual([KIB, KIB, KIB]);
    expect(reads()).toBe(before);
    await until(() => sizes().length === 64);
    expect(sizes().every((size) => size === KIB)).toBe(true);
    await until(() => reads() > before);
  });

  it('comes whole, in order, and before the end', async () => {
    const { stream, pieces } = scene(2);
    const sent = Buffer.from(Array.from({ length: 10_000 }, (_, at) => at % 251));
    const ended = new Promise((resolve) => stream.once('end', resolve));
    await nextTurn();
    stream.push(sent.subarray(0, 6_000));
    stream.push(sent.subarray(6_000));
    stream.push(null);
    await ended;
    expect(Buffer.concat(pieces).equals(sent)).toBe(true);
  });

  it('waits for its turn behind what waits already', async () => {
    const { stream, turns, sizes } = scene(0);
    await nextTurn();
    const order: string[] = [];
    void turns.next('other').then(() => order.push('other'));
    stream.once('data', () => order.push('own'));
    stream.push(Buffer.alloc(100));
    expect(sizes()).toEqual([]);
    await until(() => order.length === 2);
    expect(order).toEqual(['other', 'own']);
  });

  it('waits while TLS does not read, and goes on when it does', async () => {
    const { stream, sizes } = scene(2);
    await nextTurn();
    stream.pause();
    stream.push(Buffer.alloc(4 * KIB));
    await nextTurn();
    expect(sizes()).toEqual([]);
    stream.resume();
    await until(() => sizes().length === 4);
  });

  it('goes on when TLS reads again, although all listeners from before TLS have been removed', async () => {
    const { stream, turns, pieces } = scene(2);
    stream.removeAllListeners();
    stream.on('data', (bytes: Buffer) => pieces.push(bytes));
    await nextTurn();
    void turns.next('other');
    stream.push(Buffer.alloc(4 * KIB));
    stream.pause();
    await until(() => turns.isFree());
    await nextTurn();
    expect(pieces).toEqual([]);
    stream.resume();
    await until(() => Buffer.concat(pieces).length === 4 * KIB);
  });

  it('is dropped with its connection', async () => {
    const { stream, sizes } = scene(2);
    await nextTurn();
    stream.push(Buffer.alloc(64 * KIB));
    stream.destroy();
    await nextTurn();
    await nextTurn();
    expect(sizes()).toEqual([KIB, KIB, KIB]);
  });
});
