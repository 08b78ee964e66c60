import { TextArray } from './text-array';

describe('TextArray', () => {
  it('is what array_recv reads: dimensions, nulls, type, length, first index, then each element with its length', () => {
    const fields = [1, 1, 25, 3, 1, 2].map((field) => field.toString(16).padStart(8, '0')).join('');
    expect(new TextArray(['ä', null, '']).toPostgres().toString('hex')).toBe(`${fields}c3a4ffffffff00000000`);
  });

  it('has no dimension when it is empty', () => {
    expect(new TextArray([]).toPostgres().toString('hex')).toBe('000000000000000000000019');
  });
});
