import fc from 'fast-check';
import { BodyParts, concatInTurns } from './body-parts';
import { loopTurnsOf } from '../../../test/setup/loop-turns';

const MIB = 1024 * 1024;

describe('BodyParts', () => {
  it('gives back what came, whatever the pieces were', async () => {
    const size = fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 40_000 }), fc.constantFrom(4_096, 16_384, 65_536));
    await fc.assert(
      fc.asyncProperty(fc.array(size, { maxLength: 12 }), async (sizes) => {
        const parts = new BodyParts();
        const chunks = sizes.map((length, index) => Buffer.alloc(length, index + 1));
        for (const chunk of chunks) parts.add(chunk);
        expect(parts.bytes).toBe(Buffer.concat(chunks).length);
        expect((await parts.join('a')).equals(Buffer.concat(chunks))).toBe(true);
      }),
      { numRuns: 200 },
    );
  });

  it('keeps a body that comes byte by byte in few pieces', () => {
    const parts = new BodyParts();
    for (let at = 0; at < MIB; at += 1) parts.add(Buffer.alloc(1));
    expect(parts.count).toBeLessThan(25);
  });

  it('takes little for what is small', () => {
    const parts = new BodyParts();
    parts.add(Buffer.from('{'));
    parts.add(Buffer.from('}'));
    expect(parts.count).toBe(1);
  });

  it('lets others have their turn while it puts a large one together', async () => {
    const parts = new BodyParts();
    for (let count = 0; count < 32; count += 1) parts.add(Buffer.alloc(MIB));
    expect(await loopTurnsOf(() => parts.join('a'))).toBeGreaterThanOrEqual(15);
    expect(parts.count).toBe(0);
  });
});

describe('concatInTurns', () => {
  it.each([
    ['one large part', [5 * MIB]],
    ['parts of every size, empty ones too', [0, 3 * MIB, 1, 0, MIB + 7, 0, 2 * MIB]],
    ['small parts', [3, 0, 5]],
  ])('gives %s as one', async (_what, sizes) => {
    const parts = sizes.map((length, index) => Buffer.alloc(length, index + 1));
    expect((await concatInTurns(parts, 'a')).equals(Buffer.concat(parts))).toBe(true);
  });

  it('lets others have their turn, also within one part', async () => {
    expect(await loopTurnsOf(() => concatInTurns([Buffer.alloc(32 * MIB)], 'a'))).toBeGreaterThanOrEqual(15);
  });
});
