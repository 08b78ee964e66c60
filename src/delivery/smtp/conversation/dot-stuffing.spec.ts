import * as fc from 'fast-check';
import { AppError } from '../../../common/errors/app-error';
import { loopTurnsOf } from '../../../../test/setup/loop-turns';
import { finalDot, stuffDots, stuffDotsInTurns, withFinalDot } from './dot-stuffing';

const END_OF_DATA = '\r\n.\r\n';

/** What a receiver makes of the bytes: lines up to the lone dot, without one leading dot. */
function receive(wire: Buffer): { message: string; rest: string } {
  const text = `\r\n${wire.toString('latin1')}`;
  const end = text.indexOf(END_OF_DATA);
  const message = text
    .slice(0, end + 2)
    .replace(/\r\n\./g, '\r\n')
    .slice(2);
  return { message, rest: text.slice(end + END_OF_DATA.length) };
}

describe('stuffDots', () => {
  it.each([
    ['a\r\nb\r\n', 'a\r\nb\r\n'],
    ['.\r\n', '..\r\n'],
    ['.a', '..a'],
    ['a\r\n.b\r\n', 'a\r\n..b\r\n'],
    ['a\r\n.\r\n.\r\n', 'a\r\n..\r\n..\r\n'],
    ['..\r\n...\r\n', '...\r\n....\r\n'],
    ['a.b\r\nc.\r\n', 'a.b\r\nc.\r\n'],
    ['', ''],
  ])('of %j', (message, expected) => {
    expect(stuffDots(Buffer.from(message)).toString()).toBe(expected);
  });

  it('copies nothing when no line starts with a dot', () => {
    const message = Buffer.from('a\r\nb. c\r\n');
    expect(stuffDots(message)).toBe(message);
  });

  it.each([['a\n.\r\nb'], ['a\n.b'], ['a\r.\r\nb'], ['a\r.\rb'], ['\n.\n'], ['\r\n.\r\n\n.\n']])(
    'refuses %j, which could end the message early',
    (message) => {
      const refusal = new AppError('internal_error', 'A message with bare line ends cannot be sent');
      const stuff = () => stuffDots(Buffer.from(message));
      expect(stuff).toThrow(refusal);
      expect(stuff).toThrow(expect.objectContaining({ code: 'internal_error' }));
    },
  );

  it('what is received is what was sent, whatever the lines', () => {
    const line = fc.string({ unit: fc.constantFrom('.', '..', 'a', ' ', '\xe9', '\0'), maxLength: 6 });
    fc.assert(
      fc.property(fc.array(line), fc.boolean(), (lines, endsWithLine) => {
        const message = lines.join('\r\n') + (endsWithLine ? '\r\n' : '');
        const wire = withFinalDot(stuffDots(Buffer.from(message, 'latin1')));
        const expected = message === '' || message.endsWith('\r\n') ? message : `${message}\r\n`;
        expect(receive(wire)).toEqual({ message: expected, rest: '' });
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('stuffDotsInTurns', () => {
  const PIECE = 256 * 1024;

  it('makes the same of a large message, wherever a piece ends', async () => {
    const end = fc.string({ unit: fc.constantFrom('\r\n', '.', 'a', '\r', '\n'), maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(end, fc.nat({ max: 8 }), async (text, shift) => {
        const message = Buffer.from('.x'.repeat(PIECE / 2).slice(shift) + text + '\r\n.'.repeat(20));
        const whole = attempt(() => stuffDots(message));
        const pieces = await stuffDotsInTurns(message).catch(() => undefined);
        expect(whole ? pieces?.equals(whole) : pieces === undefined).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  it('copies nothing when no line starts with a dot, and lets others have their turn', async () => {
    const message = Buffer.from('a.\r\n'.repeat(MIB));
    expect(await stuffDotsInTurns(message)).toBe(message);
    expect(await loopTurnsOf(() => stuffDotsInTurns(message))).toBeGreaterThanOrEqual(16);
    expect(await loopTurnsOf(() => stuffDotsInTurns(Buffer.from('.\r\n'.repeat(MIB))))).toBeGreaterThanOrEqual(24);
  });
});

const MIB = 1024 * 1024;

function attempt(stuff: () => Buffer): Buffer | undefined {
  try {
    return stuff();
  } catch {
    return undefined;
  }
}

describe('finalDot', () => {
  it.each([
    ['a\r\n', '.\r\n'],
    ['a', '\r\n.\r\n'],
    ['a\n', '\r\n.\r\n'],
    ['', '.\r\n'],
  ])('after %j', (message, expected) => {
    expect(finalDot(Buffer.from(message)).toString()).toBe(expected);
  });
});
