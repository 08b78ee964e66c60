import fc from 'fast-check';
import { loopTurnsOf } from '../../../../../test/setup/loop-turns';
import { fingerprint, fingerprintInTurns, hashedKey, isIdempotencyKey } from './idempotency';

const PIECE = 128 * 1024;

describe('fingerprintInTurns', () => {
  it('is the fingerprint, however large the body is', async () => {
    const text = fc
      .tuple(fc.constantFrom(0, PIECE - 1, PIECE, 2 * PIECE), fc.string({ unit: 'grapheme', maxLength: 4 }))
      .map(([length, end]) => `${'x'.repeat(length)}${end}😀"\n`);
    const value = fc.oneof(fc.jsonValue(), text, fc.array(text, { maxLength: 2 }), fc.dictionary(fc.string(), text));
    await fc.assert(
      fc.asyncProperty(fc.dictionary(fc.string(), value, { maxKeys: 4 }), async (fields) => {
        const body = { ...fields, filler: 'f'.repeat(PIECE), idempotencyKey: 'k', absent: undefined, empty: [{}, []] };
        expect(await fingerprintInTurns(body, 'a')).toEqual(fingerprint(body));
      }),
      { numRuns: 100 },
    );
  });

  it('is the fingerprint of a small body', async () => {
    expect(await fingerprintInTurns({ b: 1, a: 'x' }, 'a')).toEqual(fingerprint({ a: 'x', b: 1 }));
  });

  it.each([
    ['one long text', { html: '"'.repeat(20 * PIECE) }],
    ['many short ones', { list: Array.from({ length: 100_000 }, () => 'twenty characters ab') }],
  ])('lets others have their turn while it takes that of %s', async (_what, body) => {
    expect(await loopTurnsOf(() => fingerprintInTurns(body, 'a'))).toBeGreaterThanOrEqual(15);
  });
});

it('a key that showed an address stays the same one under its hash, which is no client’s key', () => {
  const hash = 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb';
  expect(hashedKey('a')).toBe(`\u00a7sha256:${hash}`);
  expect(isIdempotencyKey(hashedKey('a'))).toBe(false);
});
