import { textArray } from './text-array';

describe('textArray', () => {
  it('is what array_recv reads: dimensions, nulls, type, length, first index, then each element with its length', () => {
    const fields = [1, 1, 25, 3, 1, 2].map((field) => field.toString(16).padStart(8, '0')).join('');
    expect(textArray(['ä', null, '']).toString('hex')).toBe(`${fields}c3a4ffffffff00000000`);
  });

  it('has no dimension when it is empty', () => {
    expect(textArray([]).toString('hex')).toBe('000000000000000000000019');
  });
});
