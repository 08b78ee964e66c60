import fc from 'fast-check';
import type { WantedRecord } from '../registry/wanted-records';
import { evaluateOwnership, firstTag, foundFor, parseTagList } from './dns-lookups';

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

const WANTED: WantedRecord = {
  purpose: 'verification',
  type: 'TXT',
  host: '_waybill.example.com',
  value: 'waybill-verification=abc',
  ttlSeconds: 300,
};

const evaluate = (...records: string[]) => evaluateOwnership(WANTED, { kind: 'found', records });

describe('the ownership record', () => {
  it('is verified by the wanted value, whatever stands beside it', () => {
    expect(evaluate('waybill-verification=abc')).toEqual({ result: 'verified' });
    expect(evaluate('other', ' waybill-verification=abc ', 'third')).toEqual({ result: 'verified' });
  });

  it('is wrong with another value', () => {
    expect(evaluate('waybill-verification=abcd', 'x')).toEqual({
      result: 'wrong',
      problem: 'The TXT record at _waybill.example.com is another one; it must be waybill-verification=abc',
    });
  });

  it('is wrong with quotation marks in its text, and says so', () => {
    expect(evaluate('"waybill-verification=abc"')).toMatchObject({
      result: 'wrong',
      problem: expect.stringContaining('quotation'),
    });
  });

  it.each(['no-data', 'no-domain'] as const)('is missing after %s', (kind) => {
    expect(evaluateOwnership(WANTED, { kind })).toEqual({
      result: 'missing',
      problem: 'There is no TXT record at _waybill.example.com',
    });
  });

  it('is unknown while the DNS does not answer', () => {
    expect(evaluateOwnership(WANTED, { kind: 'temporary', reason: 'ESERVFAIL' })).toEqual({
      result: 'unreachable',
      problem: 'The DNS servers of _waybill.example.com gave no usable answer (ESERVFAIL)',
    });
  });
});

describe('what is found in the place of a record', () => {
  it('is what is meant, where something is, short and printable', () => {
    const texts = ['google-site-verification=x', 'v=spf1 -all', 'v=SPF1 include:x ~all'];
    expect(foundFor({ purpose: 'spf' }, texts)).toEqual(texts.slice(1));
    expect(foundFor({ purpose: 'spf' }, texts.slice(0, 1))).toEqual(texts.slice(0, 1));
    expect(foundFor({ purpose: 'verification' }, texts)).toEqual(texts);
    expect(foundFor({ purpose: 'dkim' }, ['\u202ea\nb', 'x'.repeat(999), '', '', '', '6'])).toEqual([
      ...['?a?b', 'x'.repeat(300), '', '', ''],
    ]);
  });
});
