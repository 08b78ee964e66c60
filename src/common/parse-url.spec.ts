import { parseUrl } from './parse-url';

describe('parseUrl', () => {
  it('gives the same answer after many calls', () => {
    for (let count = 0; count < 100_000; count += 1) parseUrl('https://a.example/');
    expect(parseUrl('https://bücher.example/é')?.href).toBe('https://xn--bcher-kva.example/%C3%A9');
  });

  it.each(['', 'a.example', '/path', 'https://', 'https://[', 'https://a b/'])('knows none in %j', (text) => {
    expect(parseUrl(text)).toBeUndefined();
  });
});
