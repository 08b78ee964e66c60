import { loopTurnsOf } from '../../../test/setup/loop-turns';
import { BodyBudget } from '../http/request/request-body';
import { receiveMessage, type Reception } from './receive-message';

const MIB = 1024 * 1024;

/** Receives chunks as a message that is declared to have so many bytes. @returns it, and the bytes that were reserved */
async function receive(chunks: readonly Buffer[], expectedBytes: number, room?: number) {
  const reserve = jest.spyOn(Buffer, 'allocUnsafeSlow');
  const stream = Object.assign(chunks.values(), { byteLength: Buffer.concat(chunks).length });
  const refusals = { tooLarge: () => new Error(), farTooLarge: () => new Error(), noRoom: () => new Error() };
  const limits = { maxBytes: 25 * MIB, maxDataBytes: 50 * MIB, keptBytes: 25 * MIB };
  const reception: Reception = {
    ...{ memory: { take: () => true, give: () => undefined }, holder: 'a' },
    ...{ limits, expectedBytes, refusals, ...(room !== undefined && { room }) },
  };
  const message = await receiveMessage(stream as never, reception, (bytes) => Promise.resolve(bytes));
  const sizes = reserve.mock.calls.map(([size]) => size);
  reserve.mockRestore();
  return { message, reserved: sizes };
}

describe('receiveMessage', () => {
  it('reserves little for a message that is declared and not sent', async () => {
    const { message, reserved } = await receive([Buffer.from('hi')], 25 * MIB);
    expect(message.toString()).toBe('hi');
    expect(Math.max(...reserved)).toBeLessThanOrEqual(256 * 1024);
  });

  it('reserves the declared size once', async () => {
    const chunks = Array.from({ length: 40 }, (_, n) => Buffer.alloc(64 * 1024, n));
    const { message, reserved } = await receive(chunks, 40 * 64 * 1024);
    expect(message.equals(Buffer.concat(chunks))).toBe(true);
    expect(reserved).toHaveLength(2);
  });

  it('lets the event loop go on while it makes room for a long message that is not declared', async () => {
    const chunks = Array.from({ length: 9 }, (_, n) => Buffer.alloc(MIB, n));
    let message: Buffer = Buffer.alloc(0);
    expect(await loopTurnsOf(async () => ({ message } = await receive(chunks, 0)))).toBeGreaterThanOrEqual(12);
    expect(message.equals(Buffer.concat(chunks))).toBe(true);
  });

  it.each([0, 10, 3 * MIB])('keeps room before a message of %d declared bytes', async (declared) => {
    const chunks = Array.from({ length: 20 }, (_, n) => Buffer.alloc(50_000, n));
    const { message } = await receive(chunks, declared, 100);
    expect(message.equals(Buffer.concat(chunks))).toBe(true);
    expect(message.byteOffset).toBe(100);
  });

  it('needs no memory for what is not kept', async () => {
    const take = jest
      .fn(() => true)
      .mockReturnValueOnce(true)
      .mockReturnValue(false);
    const refusal = () => new Error('refused');
    const limits = { maxBytes: 4 * MIB, maxDataBytes: 4 * MIB, keptBytes: MIB };
    const refusals = { tooLarge: refusal, farTooLarge: refusal, noRoom: refusal };
    const memory = { take, give: () => undefined };
    const stream = Object.assign([Buffer.alloc(MIB, 1), Buffer.alloc(MIB, 2)].values(), { byteLength: 2 * MIB });
    const reception = { memory, holder: 'a', limits, expectedBytes: 0, refusals };
    const kept = await receiveMessage(stream as never, reception, (bytes) => Promise.resolve(bytes));
    expect(kept.equals(Buffer.alloc(MIB, 1))).toBe(true);
  });

  describe('of a message that is not taken, while its client sends on', () => {
    const refusals = {
      tooLarge: () => new Error('large'),
      farTooLarge: () => new Error('far'),
      noRoom: () => new Error('room'),
    };
    const limits = { maxBytes: 4 * MIB, maxDataBytes: 50 * MIB, keptBytes: 4 * MIB };

    /** Sends MiB by MiB. @returns the refusal, and what is held of the memory before each of them and at the end */
    async function heldWith(memory: BodyBudget, mibs: number, holder = 'a') {
      let held = 0;
      const counted = {
        take(of: string, bytes: number) {
          const isTaken = memory.take(of, bytes);
          held += isTaken ? bytes : 0;
          return isTaken;
        },
        give(of: string, bytes: number) {
          memory.give(of, bytes);
          held -= bytes;
        },
      };
      const seen: number[] = [];
      const stream = { byteLength: 0, [Symbol.asyncIterator]: chunks };
      async function* chunks() {
        for (let sent = 1; sent <= mibs; sent += 1) {
          seen.push(held);
          await new Promise(setImmediate);
          stream.byteLength = sent * MIB;
          yield Buffer.alloc(MIB);
        }
        seen.push(held);
      }
      const reception = { memory: counted, holder, limits, expectedBytes: 0, refusals };
      const result = await receiveMessage(stream, reception, ({ length }) => Promise.resolve(length)).catch(
        (error: Error) => error.message,
      );
      return { result, seen, left: held };
    }

    it('holds nothing once there was no room', async () => {
      const { result, seen, left } = await heldWith(new BodyBudget(4 * MIB), 4);
      expect(result).toBe('room');
      expect(seen).toEqual([0, MIB, 2 * MIB, 0, 0]);
      expect(left).toBe(0);
    });

    it('holds nothing once it is too large', async () => {
      const { result, seen, left } = await heldWith(new BodyBudget(100 * MIB), 6);
      expect(result).toBe('large');
      expect(seen).toEqual([0, MIB, 2 * MIB, 3 * MIB, 4 * MIB, 0, 0]);
      expect(left).toBe(0);
    });

    it('leaves room for one of several that come at the same time', async () => {
      const memory = new BodyBudget(8 * MIB);
      const received = await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map((holder) => heldWith(memory, 3, holder)));
      expect(received.map(({ result }) => result)).toContain(3 * MIB);
    });
  });
});
