import fc from 'fast-check';
import { progressOf, toPartTexts } from './export-items';

const items = fc.array(fc.record({ text: fc.string({ unit: 'grapheme', maxLength: 50 }) }), { maxLength: 40 });

describe('toPartTexts', () => {
  it('keeps all items in order, in parts that are full but not too big', () => {
    fc.assert(
      fc.property(items, fc.integer({ min: 1, max: 400 }), (given, maxBytes) => {
        const parts = toPartTexts(given, maxBytes);
        expect(parts.flatMap((part) => part.split('\n').map((line) => JSON.parse(line) as unknown))).toEqual(given);
        for (const part of parts) expect(Buffer.byteLength(part) < maxBytes || !part.includes('\n')).toBe(true);
        for (const [index, part] of parts.slice(1).entries()) {
          const [first = ''] = part.split('\n');
          expect(Buffer.byteLength(`${parts[index]}\n${first}\n`)).toBeGreaterThan(maxBytes);
        }
      }),
    );
  });
});

it('a request that has not been worked at begins before all emails', () => {
  expect(progressOf({ progress: {} })).toEqual({
    after: '00000000-0000-0000-0000-000000000000',
    parts: { emails: 0, events: 0, suppressions: 0 },
    items: { emails: 0, events: 0, suppressions: 0 },
    bytes: 0,
  });
});
