import { textFromHtml } from './content';

describe('textFromHtml', () => {
  it('keeps what a reader needs', () => {
    const html =
      '<html><head><title>t</title><style>p{}</style></head><body><h1>Your order</h1><p>It is <b>on its way</b>.</p>' +
      '<ul><li>one</li><li>two</li></ul><p><a href="https://b.example/track">Track it</a>' +
      '<a href="https://b.example/">https://b.example/</a><img src="https://b.example/p.gif" alt="x"></p></body></html>';
    expect(textFromHtml(html)).toBe(
      'Your order\n\nIt is on its way.\n\n * one\n * two\n\nTrack it [https://b.example/track]https://b.example/x',
    );
  });

  it('is empty where there is nothing to read', () => {
    expect(textFromHtml('<p> </p><img src="x"><script>x</script>')).toBe('');
  });

  it('wraps lines', () => {
    for (const line of textFromHtml(`<p>${'word '.repeat(100)}</p>`).split('\n')) {
      expect(line.length).toBeLessThanOrEqual(76);
    }
  });

  it.each([
    ['nesting', '<div>'.repeat(60_000)],
    ['nesting and stray ends', '<b>'.repeat(40_000) + '</p>'.repeat(30_000)],
    ['open lists', '<ul><li>x'.repeat(30_000)],
    ['open tables', '<table><tr><td>'.repeat(20_000)],
    ['signs', '<'.repeat(300_000)],
    ['an open attribute', `<a href="${'x'.repeat(300_000)}`],
    ['attributes', `<a ${'b=c '.repeat(80_000)}>`],
    ['entities', '&amp'.repeat(80_000)],
    ['broken entities', '&#x;'.repeat(80_000)],
    ['a comment', `<!--${'-'.repeat(300_000)}`],
    ['siblings', '<i></i>'.repeat(60_000)],
    ['five megabytes', '<p>word</p>'.repeat(500_000)],
  ])('survives %s', (_, html) => {
    expect(textFromHtml(html).length).toBeLessThanOrEqual(1_000_000);
  });
});
