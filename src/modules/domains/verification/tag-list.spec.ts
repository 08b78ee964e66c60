import fc from 'fast-check';
import { firstTag, parseTagList } from './tag-list';

describe('a tag list', () => {
  it.each([
    ['v=DKIM1; k=rsa; p=abc', { v: 'DKIM1', k: 'rsa', p: 'abc' }],
    ['p=abc;v=DKIM1', { p: 'abc', v: 'DKIM1' }],
    [' v = DKIM1 ;\tp = a b c ; ', { v: 'DKIM1', p: 'a b c' }],
    ['p=', { p: '' }],
    ['p=a=b==', { p: 'a=b==' }],
    ['P=abc', { P: 'abc' }],
  ])('is read from %j', (text, tags) => {
    expect(Object.fromEntries(parseTagList(text) ?? [])).toEqual(tags);
  });

  it.each(['', ';', 'abc', 'v=1;;p=2', 'v=1; v=2', '=x', '1v=x', 'v=DKIM1; p'])('is not %j', (text) => {
    expect(parseTagList(text)).toBeUndefined();
  });

  it('keeps the order', () => {
    expect(firstTag(parseTagList('b=1; a=2') ?? new Map())).toBe('b');
  });

  it('is read or refused, never thrown at, and reads back what it holds', () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9_]{0,4}$/);
    const value = fc.string().map((text) => text.replace(/;/g, '').trim());
    fc.assert(
      fc.property(fc.dictionary(name, value, { minKeys: 1, noNullPrototype: true }), (tags) => {
        const text = Object.entries(tags)
          .map(([key, content]) => ` ${key} = ${content}`)
          .join(';');
        expect(Object.fromEntries(parseTagList(text) ?? [])).toEqual(tags);
      }),
    );
    fc.assert(fc.property(fc.string(), (text) => void parseTagList(text)));
  });
});
