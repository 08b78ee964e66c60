import fc from 'fast-check';
import { decodeBase64, decodedLength } from './base64-in-turns';
import { loopTurnsOf } from '../../../test/setup/loop-turns';

const STRICT = /^[A-Za-z0-9+/]*={0,2}$/;

describe('decodeBase64', () => {
  it('decodes what is base64, and nothing else', async () => {
    const near = fc.string({ unit: fc.constantFrom('A', 'b', '9', '+', '/', '=', '-', '\n', 'é'), maxLength: 12 });
    const text = fc.oneof(
      fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('base64')),
      near,
    );
    await fc.assert(
      fc.asyncProperty(text, async (base64) => {
        const isBase64 = base64.length % 4 === 0 && STRICT.test(base64);
        const expected = isBase64 ? Buffer.from(base64, 'base64') : undefined;
        expect(await decodeBase64(base64, 'a')).toEqual(expected);
        if (expected) expect(decodedLength(base64)).toBe(expected.length);
      }),
      { numRuns: 1_000 },
    );
  });

  it('decodes long texts as it does short ones, and lets others have their turn', async () => {
    const bytes = Buffer.from(Array.from({ length: 3_000_001 }, (_, index) => (index * 7) % 251));
    const base64 = bytes.toString('base64');
    expect(
      await loopTurnsOf(async () => expect((await decodeBase64(base64, 'a'))?.equals(bytes)).toBe(true)),
    ).toBeGreaterThanOrEqual(15);
  });

  it.each([0, 262_143, 262_144, 3_999_999])('refuses another character at %d', async (at) => {
    const base64 = 'A'.repeat(4_000_000);
    for (const other of ['=', '-']) {
      const changed = base64.slice(0, at) + other + base64.slice(at + 1);
      expect((await decodeBase64(changed, 'a')) === undefined).toBe(other === '-' || at < 3_999_998);
    }
  });
});
