import { loopTurnsOf } from '../../../test/setup/loop-turns';
import { textFromHtml } from './content';

describe('textFromHtml', () => {
  it('keeps what a reader needs', async () => {
    const html =
      '<html><head><title>t</title><style>p{}</style></head><body><h1>Your order</h1><p>It is <b>on its way</b>.</p>' +
      '<ul><li>one</li><li>two</li></ul><p><a href="https://b.example/track">Track it</a>' +
      '<a href="https://b.example/">https://b.example/</a><img src="https://b.example/p.gif" alt="x"></p></body></html>';
    expect(await textFromHtml(html)).toBe(
      'Your order\n\nIt is on its way.\n\n * one\n * two\n\nTrack it [https://b.example/track]https://b.example/x',
    );
  });

  it('is empty where there is nothing to read', async () => {
    expect(await textFromHtml('<p> </p><img src="x"><script>x</script>')).toBe('');
  });

  it('wraps lines', async () => {
    for (const line of (await textFromHtml(`<p>${'word '.repeat(100)}</p>`)).split('\n')) {
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
    ['spaces', `<pre>${' '.repeat(250_000)}x`],
    ['a comment', `<!--${'-'.repeat(300_000)}`],
    ['siblings', '<i></i>'.repeat(60_000)],
    ['blocks within a comment', '<!--<p>'.repeat(30_000)],
    ['five megabytes', '<p>word</p>'.repeat(500_000)],
  ])('survives %s', async (_, html) => {
    expect((await textFromHtml(html)).length).toBeLessThanOrEqual(1_000_000);
  });

  const ROWS = 1_900;

  it('is derived in several turns where there are many tags, and is the same but for an empty line', async () => {
    const words = Array.from({ length: ROWS }, (_, row) => `row ${row}`);
    const html = `<table>${words.map((word) => `<tr><td>${word}</td></tr>`).join('')}</table>`;
    let text = '';
    const turns = await loopTurnsOf(async () => (text = await textFromHtml(html)));
    expect(turns).toBeGreaterThanOrEqual(3);
    expect(text.split(/\n+/)).toEqual(words);
  });

  it.each([
    ['a list', '<ul>', '<li><p>a</p></li>', '</ul>', ['x', ' * a', 'end']],
    ['a comment', '<!--', '<p>a</p>', '-->', ['x', 'end']],
    ['preformatted text', '<pre>', '<p>a  b</p>', '</pre>', ['x', 'a  b', 'end']],
  ])('is derived of %s as a whole', async (_what, open, inside, close, lines) => {
    const html = `${'<p>x</p>'.repeat(ROWS / 2)}${open}${inside.repeat(ROWS / 2)}${close}<p>end</p>`;
    const found = new Set((await textFromHtml(html)).split('\n'));
    found.delete('');
    expect([...found]).toEqual(lines);
  });

  it('has a line for each row of a table', async () => {
    const html = '<table><tr><td>Tea</td><td>5</td></tr><tr><td>Milk</td><td>1</td></tr></table><p>Thanks</p>';
    expect((await textFromHtml(html)).split(/\n+/)).toEqual(['Tea 5', 'Milk 1', 'Thanks']);
  });
});
