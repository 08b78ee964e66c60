import fc from 'fast-check';
import { MAX_LINKS, trackHtml } from './track-html';
import { anyCharacter } from '../../../test/factories/any-character';

const LINK = 'https://t.example/c/1';
const PIXEL_URL = 'https://t.example/o/1';
const PIXEL =
  `<table role="presentation" background="${PIXEL_URL}" width="1" height="1" border="0" cellpadding="0" cellspacing="0"><tr><td></td></tr></table>` +
  `<!--[if mso]><img src="${PIXEL_URL}" width="1" height="1" alt=""><![endif]-->`;

/** The html with every link led elsewhere, and where each of them led. */
function track(html: string): { readonly html: string; readonly urls: readonly string[] } {
  const urls: string[] = [];
  const tracked = trackHtml(html, { linkFor: (url) => (urls.push(url), LINK) });
  return { html: tracked, urls };
}

describe('links', () => {
  it.each([
    ['double quotes', '<a href="https://a.example/b">', `<a href="${LINK}">`],
    ['single quotes', "<a href='https://a.example/b'>", `<a href='${LINK}'>`],
    ['no quotes', '<a href=https://a.example/b>', `<a href=${LINK}>`],
    ['no quotes and an attribute behind', '<a href=https://a.example/b class=c>', `<a href=${LINK} class=c>`],
    ['upper case', '<A CLASS=B HREF="HTTPS://A.example/b">', `<A CLASS=B HREF="${LINK}">`],
    ['spaces wherever they may be', '<a\n\thref \n=\t" https://a.example/b\n" >', `<a\n\thref \n=\t"${LINK}" >`],
    ['a tab and a line end in the address', '<a href="https://a.exa\tmple/\nb">', `<a href="${LINK}">`],
    ['entities', '<a href="https&colon;&#47;&#x2f;a.example/b">', `<a href="${LINK}">`],
    ['an entity first', '<a href=&#104;ttps://a.example/b>', `<a href=${LINK}>`],
    ['no space between attributes', '<a class="c"href="https://a.example/b"id=d>', `<a class="c"href="${LINK}"id=d>`],
    [
      'another attribute with the same text',
      '<a title="href=x" href="https://a.example/b">',
      `<a title="href=x" href="${LINK}">`,
    ],
    [
      'of two the first',
      '<a href="https://a.example/b" href="https://c.example/">',
      `<a href="${LINK}" href="https://c.example/">`,
    ],
    ['an area', '<area shape="rect" href="https://a.example/b">', `<area shape="rect" href="${LINK}">`],
    ['a slash at the end', '<a href="https://a.example/b"/>', `<a href="${LINK}"/>`],
    [
      'html for all but one mail program',
      '<!--[if !mso]><!--><a href="https://a.example/b"><!--<![endif]-->',
      `<!--[if !mso]><!--><a href="${LINK}"><!--<![endif]-->`,
    ],
    ['unclosed elements', '<p><b><a href="https://a.example/b"><table>', `<p><b><a href="${LINK}"><table>`],
  ])('%s', (_what, html, tracked) => {
    expect(track(html)).toEqual({ html: tracked, urls: ['https://a.example/b'] });
  });

  it.each([
    ['https://a.example', 'https://a.example/'],
    ['http://a.example:8080/?a=1&amp;b=2#c', 'http://a.example:8080/?a=1&b=2#c'],
    ['http://a.example/?a=1&b=2&copy=3&reg', 'http://a.example/?a=1&b=2&copy=3%C2%AE'],
    ['https://b&uuml;cher.example/é x', 'https://xn--bcher-kva.example/%C3%A9%20x'],
    ['https://a.example/?q=&quot;&lt;&#0;&#xD800;', 'https://a.example/?q=%22%3C%EF%BF%BD%EF%BF%BD'],
    ['https://a.example/%0d%0aSet-Cookie:a', 'https://a.example/%0d%0aSet-Cookie:a'],
  ])('%s means %s', (href, url) => {
    expect(track(`<a href="${href}">`).urls).toEqual([url]);
  });

  it.each([
    [
      'other schemes',
      ['mailto:a@b.example', 'tel:+123', 'javascript:alert(1)', 'data:text/html,x', 'ftp://a.example/'],
    ],
    ['addresses within the mail', ['#top', '', '/path', 'page.html', '//a.example/', '?a=b']],
    [
      'what is no address',
      ['https://', 'https://a b/', 'http://[', 'https:a.example', 'http:\\\\a.example', '{{link}}'],
    ],
    ['credentials', ['https://user@a.example/', 'https://user:secret@a.example/', 'https://:secret@a.example/']],
  ])('%s stay', (_what, addresses) => {
    const html = addresses.map((address) => `<a href="${address}">x</a>`).join('');
    expect(track(html)).toEqual({ html, urls: [] });
  });

  it.each([
    '<!-- <a href="https://a.example/"> -->',
    '<!--[if mso]><a href="https://a.example/"><![endif]-->',
    '<![CDATA[<a href="https://a.example/">]]>',
    '<script>"<a href=https://a.example/>"</script>',
    '<style><a href="https://a.example/"></style>',
    '<title><a href="https://a.example/"></title>',
    '<textarea><a href="https://a.example/"></textarea>',
    '<template><a href="https://a.example/"></template>',
    '<iframe><a href="https://a.example/"></iframe>',
    '<link href="https://a.example/"><base href="https://a.example/"><img src="https://a.example/">',
    '<a name="https://a.example/" data-href="https://a.example/" xhref="https://a.example/">',
    '<abbr href="https://a.example/"><form action="https://a.example/">',
    '<a href="https://a.example/',
    '<a href="https://a.example/" ',
    '</a href="https://a.example/">',
    '&lt;a href="https://a.example/"&gt; https://a.example/',
    '<a href>https://a.example/</a>',
  ])('no link: %s', (html) => {
    expect(track(html)).toEqual({ html, urls: [] });
  });

  it.each([
    '<a data-waybill-track="off" href="https://no.example/">',
    "<a href='https://no.example/' DATA-WAYBILL-TRACK=' Off '>",
    '<area href="https://no.example/" data-waybill-track=off>',
    '<div data-waybill-track="off"><div></div><p><a href="https://no.example/"></p></div>',
    '<div data-waybill-track="off"><br><a href="https://no.example/">x</a><a href="https://no.example/">y</a></div>',
    '<table data-waybill-track="off"><tr><td><a href="https://no.example/"></table>',
    '<div data-waybill-track="off"><!-- </div> --><a title="</div>" href="https://no.example/"></div>',
  ])('switched off: %s', (html) => {
    const [before, after] = ['<p><a href="https://a.example/">a</a>', '</a><a href="https://b.example/">b</a>'];
    expect(track(before + html + after)).toEqual({
      html: before.replace('https://a.example/', LINK) + html + after.replace('https://b.example/', LINK),
      urls: ['https://a.example/', 'https://b.example/'],
    });
  });

  it('other values of the switch, and it at an element without content, change nothing', () => {
    const html = '<div data-waybill-track="on"><img data-waybill-track="off"><br data-waybill-track=off />';
    expect(track(`${html}<a href="https://a.example/">`).urls).toEqual(['https://a.example/']);
  });

  it('are left alone where there is nothing to lead them to', () => {
    const html = '<a href="https://a.example/1"></a><a href=https://a.example/2></a><a href="https://a.example/3"></a>';
    expect(trackHtml(html, { linkFor: (url) => (url.endsWith('2') ? LINK : undefined) })).toBe(
      html.replace('https://a.example/2', LINK),
    );
    expect(trackHtml(html, {})).toBe(html);
  });

  it('do not break out of their value', () => {
    for (const quote of ['"', "'"]) {
      const html = trackHtml(`<a href=${quote}https://a.example/${quote}>`, { linkFor: () => `a"b'c<d>e&amp;f` });
      expect(html).toBe(`<a href=${quote}a&quot;b&#39;c&lt;d&gt;e&amp;amp;f${quote}>`);
    }
  });

  it('are left alone where they are longer than any program follows', () => {
    // Names of hosts take longest: of 2.5 million characters a third of a second.
    const html = ['https://', 'https://a.example/']
      .map((start) => `<a href="${start}${'ü.'.repeat(32 * 1024)}">`)
      .join('');
    expect(track(html)).toMatchObject({ html, urls: [] });
  });

  it('are led elsewhere up to a number', () => {
    const tail = '<a href="https://last.example/">';
    const { html, urls } = track('<a href="https://a.example/">'.repeat(MAX_LINKS) + tail);
    expect(urls).toHaveLength(MAX_LINKS);
    expect(html.endsWith(`<a href="${LINK}">${tail}`)).toBe(true);
  });
});

describe('the pixel', () => {
  const withPixel = (html: string) => trackHtml(html, { pixelUrl: PIXEL_URL });

  it.each([
    ['<html><body><p>Hello</p>', '</body></html>'],
    ['<BODY>Hello', '</BODY\n>\n'],
    ['<body>one</body><body>two', '</body>'],
    ['<body>Hello', '</body><!-- </body> --><template></body></template>'],
    ['<p>Hello</p>', ''],
    ['Hello <!-- </body>', ''],
    ['', ''],
  ])('%s | %s', (before, after) => {
    expect(withPixel(before + after)).toBe(before + PIXEL + after);
  });

  it('stands beside links, before and after the body', () => {
    const html = '<body><a href="https://a.example/"></body><a href="https://a.example/">';
    expect(trackHtml(html, { pixelUrl: PIXEL_URL, linkFor: () => LINK })).toBe(
      `<body><a href="${LINK}">${PIXEL}</body><a href="${LINK}">`,
    );
  });
});

const anyJunk = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 20 }).map((text) => text.replace(/[<&]/g, '')),
  fc.constantFrom(
    ...[
      '<p>',
      '</p>',
      '<br/>',
      '<img src="https://i.example/x.png">',
      '<!-- <a href="https://n.example/"> -->',
      '&amp;',
    ],
    ...[
      '<style>a{}</style>',
      '<td class=x>',
      '</div>',
      '\r\n',
      '<',
      '< a href="https://n.example/">',
      '&',
      '\u{d800}',
      '<>',
    ],
  ),
);
const anyLink = fc
  .record({ quote: fc.constantFrom('"', "'", ''), path: fc.stringMatching(/^[a-z0-9é%/?&;=-]{0,30}$/) })
  .map(({ quote, path }) => [`<a href=${quote}`, `https://a.example/${path}`, `${quote}>`] as const);

describe('any html', () => {
  it('changes in the values of its links and nowhere else', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(anyJunk, anyLink), { maxLength: 40 }), (parts) => {
        const join = (linkOf: (href: string) => string) =>
          parts.map((part) => (typeof part === 'string' ? part : part[0] + linkOf(part[1]) + part[2])).join(' ');
        expect(track(join((href) => href)).html).toBe(join(() => LINK));
      }),
    );
  });

  it('without links stays as it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 200 }), (html) => {
        const changed = trackHtml(html, { pixelUrl: PIXEL_URL, linkFor: () => LINK });
        expect(changed.replace(PIXEL, '')).toBe(html);
      }),
    );
  });

  it('goes through in one pass, however it was made to be slow', () => {
    const pieces = [
      ...[
        '<',
        '<a',
        '<a ',
        '<a href',
        '<a href=',
        '<a href="',
        '<a href=">',
        '<b>',
        '</b>',
        '<p>',
        '</p>',
        '<!--',
        '-->',
      ],
      ...[
        '<![CDATA[',
        ']]>',
        '<a x=y ',
        ' x=y',
        ' x',
        '\n',
        '&',
        '&a',
        '&#',
        '&#1',
        '&#x110000;',
        '<?',
        '<!',
        '"',
        '</',
      ],
      ...[
        '<div data-waybill-track=off>',
        '<template>',
        '<svg>',
        '<title>',
        '</body',
        '</body>',
        '<script',
        '</script ',
      ],
      ...['<a href=https://a.example/>', '<a href=http://[>', '<a href=" https://', '<a/href=//', '&amp;', '<a href=&'],
    ];
    for (const piece of pieces) {
      for (const before of ['', '<a href="https://a.example/?', '<a ', '<!--']) {
        const html = before + piece.repeat(Math.ceil(300_000 / piece.length));
        const changed = trackHtml(html, { pixelUrl: PIXEL_URL, linkFor: () => LINK });
        expect(changed.length).toBeGreaterThan(PIXEL.length);
      }
    }
  });
});
