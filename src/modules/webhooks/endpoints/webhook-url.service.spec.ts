import fc from 'fast-check';
import { checkUrl } from './webhook-url.service';
import { anyCharacter } from '../../../../test/factories/any-character';

const SCHEME = 'url must begin with https://';
const PORT = 'url must use port 443, or one from 1024 on';
const LENGTH = 'url must be a URL of at most 2,048 characters';
const problemOf = (text: string, allowPrivate = false) => {
  const judged = checkUrl(text, allowPrivate);
  return judged.ok ? undefined : judged.problem;
};

describe('checkUrl', () => {
  it.each([
    ['https://hooks.example.com', 'https://hooks.example.com/'],
    ['https://hooks.example.com:443/a?b=c', 'https://hooks.example.com/a?b=c'],
    ['HTTPS://Hooks.Example.com:8443/A', 'https://hooks.example.com:8443/A'],
    ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
    [`https://hooks.example.com/${'a'.repeat(2_021)}`, `https://hooks.example.com/${'a'.repeat(2_021)}`],
  ])('takes %s', (text, href) => {
    expect(checkUrl(text, false)).toMatchObject({ ok: true, url: { href } });
  });

  it.each([
    ['', LENGTH],
    ['hooks.example.com', LENGTH],
    ['https://', LENGTH],
    [`https://hooks.example.com/${'a'.repeat(2_023)}`, LENGTH],
    [`https://hooks.example.com/${'ü'.repeat(1_000)}`, LENGTH],
    ['http://hooks.example.com/', SCHEME],
    ['http://127.0.0.1:8080/', SCHEME],
    ['ftp://hooks.example.com/', SCHEME],
    ['javascript:alert(1)', SCHEME],
    ['https://user@hooks.example.com/', 'url must not hold credentials'],
    ['https://:secret@hooks.example.com/', 'url must not hold credentials'],
    ['https://hooks.example.com/#part', 'url must not have a fragment'],
    ['https://hooks.example.com/#', 'url must not have a fragment'],
    ['https://hooks.example.com:80/', PORT],
    ['https://hooks.example.com:25/', PORT],
    ['https://hooks.example.com:0/', PORT],
    ['https://hooks.example.com:1023/', PORT],
  ])('refuses %s', (text, problem) => {
    expect(problemOf(text)).toBe(problem);
  });

  it('takes http to this machine alone, and only where that is allowed', () => {
    const local = ['http://127.0.0.1:8080/', 'http://127.9.9.9:8080/', 'http://[::1]:8080/', 'http://localhost:8080/'];
    expect(local.map((text) => problemOf(text, true))).toEqual(local.map(() => undefined));
    expect(local.map((text) => problemOf(text))).toEqual(local.map(() => SCHEME));
    expect(problemOf('http://10.0.0.1:8080/', true)).toBe(SCHEME);
    expect(problemOf('http://localhost.example.com:8080/', true)).toBe(SCHEME);
    expect(problemOf('http://localhost/', true)).toBe(PORT);
  });

  it('returns a result for any text', () => {
    const texts = fc.oneof(fc.string({ unit: anyCharacter }), fc.webUrl({ withFragments: true }));
    fc.assert(
      fc.property(texts, (text) => {
        const judged = checkUrl(text, false);
        return judged.ok ? judged.url.protocol === 'https:' && judged.url.hash === '' : judged.problem !== '';
      }),
    );
  });
});
