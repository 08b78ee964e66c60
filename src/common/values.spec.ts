import fc from 'fast-check';
import { cutText, sizeOfValue } from './values';

describe('cutText', () => {
  it.each([
    ['abc', 2, 'ab'],
    ['abc', 3, 'abc'],
    ['a😀b', 1, 'a'],
    ['a😀b', 2, 'a'],
    ['a😀b', 3, 'a😀'],
    ['a😀', 3, 'a😀'],
    ['', 0, ''],
  ])('keeps of %j at most %i', (text, most, kept) => {
    expect(cutText(text, most)).toBe(kept);
  });
});

describe('sizeOfValue', () => {
  it.each<[unknown, number]>([
    [null, 1],
    ['abc', 4],
    [{ ab: 'c', d: [1, 2] }, 1 + 2 + 2 + 1 + 1 + 1 + 1],
  ])('counts the texts, names and values of %j', (value, size) => {
    expect(sizeOfValue(value, 1_000)).toBe(size);
  });

  it('is never far more than the JSON is long, nor stops below the limit', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat({ max: 50 }), (value, limit) => {
        const size = sizeOfValue(value, Infinity);
        expect(size).toBeLessThanOrEqual(2 * JSON.stringify(value).length + 1);
        expect(sizeOfValue(value, limit) >= limit).toBe(size >= limit);
      }),
    );
  });

  it('looks no further than to the limit', () => {
    const seen: string[] = [];
    const value = new Proxy(Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`k${index}`, 1])), {
      get: (target, name) => (seen.push(String(name)), target[String(name)]),
    });
    expect(sizeOfValue(value, 20)).toBeGreaterThanOrEqual(20);
    expect(seen.length).toBeLessThan(10);
  });
});
