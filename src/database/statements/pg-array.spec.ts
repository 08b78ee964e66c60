import * as fc from 'fast-check';
import { arrayText, TextArray } from './pg-array';
import { anyCharacter } from '../../../test/factories/any-character';

describe('arrayText', () => {
  it('writes ids, numbers, booleans, times and nulls', () => {
    const time = new Date('2026-03-04T05:06:07.089Z');
    expect(arrayText(['a b', 1, -2.5, true, time, null, undefined, ''])).toBe(
      '{"a b",1,-2.5,true,"2026-03-04T05:06:07.089Z",NULL,NULL,""}',
    );
    expect(arrayText([])).toBe('{}');
  });

  it('leaves what it does not know to the driver', () => {
    expect(arrayText([Buffer.from('x')])).toBeUndefined();
    expect(arrayText([['nested']])).toBeUndefined();
  });

  it('lets every text come back as it was', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string({ unit: anyCharacter }), fc.constantFrom('"', '\\', '{}', ',', 'NULL'))),
        (texts) => {
          expect(readBack(arrayText(texts) as string)).toEqual(texts);
        },
      ),
    );
  });
});

/** By the rules of the manual's section on array input: quoted elements, a backslash before a quote or a backslash. */
function readBack(literal: string): string[] {
  const elements = literal.slice(1, -1).match(/"(?:[^"\\]|\\[\s\S])*"/g) ?? [];
  return elements.map((element) => element.slice(1, -1).replace(/\\([\s\S])/g, '$1'));
}

describe('TextArray', () => {
  it('is what array_recv reads: dimensions, nulls, type, length, first index, then each element with its length', () => {
    const fields = [1, 1, 25, 3, 1, 2].map((field) => field.toString(16).padStart(8, '0')).join('');
    expect(new TextArray(['ä', null, '']).toPostgres().toString('hex')).toBe(`${fields}c3a4ffffffff00000000`);
  });

  it('is the same where a text is there in pieces', () => {
    const pieces = [Buffer.from('a'), Buffer.from('ä')];
    expect(new TextArray([pieces, null, 'b']).toPostgres()).toEqual(new TextArray(['aä', null, 'b']).toPostgres());
  });

  it('has no dimension when it is empty', () => {
    expect(new TextArray([]).toPostgres().toString('hex')).toBe('000000000000000000000019');
  });
});
