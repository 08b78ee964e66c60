import { loopTurnsOf } from '../../../test/setup/loop-turns';
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
    const chunks = Array.from({ length: 24 }, (_, n) => Buffer.alloc(MIB, n));
    let message: Buffer = Buffer.alloc(0);
    expect(await loopTurnsOf(async () => ({ message } = await receive(chunks, 0)))).toBeGreaterThanOrEqual(25);
    expect(message.equals(Buffer.concat(chunks))).toBe(true);
  });

  it.each([0, 10, 3 * MIB])('keeps room before a message of %d declared bytes', async (declared) => {
    const chunks = Array.from({ length: 20 }, (_, n) => Buffer.alloc(50_000, n));
    const { message } = await receive(chunks, declared, 100);
    expect(message.equals(Buffer.concat(chunks))).toBe(true);
    expect(message.byteOffset).toBe(100);
  });
});
