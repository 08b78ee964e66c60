import { parseDocument } from 'htmlparser2';
import * as liquidjs from 'liquidjs';
import { adaptLiquid } from './rendering/adapt-liquid';
import { TemplateEngine } from './rendering/template-engine';
import { COLOURS, LIBRARY } from './library';

// Time stands still: a busy machine must not end a rendering.
const engine = new TemplateEngine(liquidjs, () => 0, adaptLiquid);
const GIVEN = {
  product_name: 'Ada & Co.',
  action_url: 'https://example.com/start?a=1&b=2',
  expires_in: '24 hours',
  receipt_number: 'R-1815',
  date: '10 December',
  items: [
    { description: 'Analytical engine <used>', amount: '42.00 EUR' },
    { description: 'Cards', amount: '1.00 EUR' },
  ],
  total: '43.00 EUR',
  inviter_name: 'Ada',
  team_name: 'Engines',
  title: 'Disk is nearly full',
  message: '<b>95 %</b>\nof disk 1',
};
const OPTIONAL = {
  name: 'Grace',
  support_email: 'help@example.com',
  ip_address: '192.0.2.1',
  tax: '3.00 EUR',
  time: '12:00',
  details: [{ name: 'Disk', value: '1' }],
};

interface Node {
  name?: string;
  attribs?: Record<string, string>;
  children?: Node[];
  data?: string;
}
const elementsOf = (node: Node): Node[] => [
  ...(node.name ? [node] : []),
  ...(node.children ?? []).flatMap((child) => elementsOf(child)),
];
const textOf = (node: Node): string => node.data ?? (node.children ?? []).map(textOf).join('');

/** Relative luminance and contrast as WCAG 2.2 defines them. */
function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

it.each([
  ['text on a card', COLOURS.light.text, COLOURS.light.card],
  ['text on the page', COLOURS.light.text, COLOURS.light.page],
  ['muted text on a card', COLOURS.light.muted, COLOURS.light.card],
  ['muted text on the page', COLOURS.light.muted, COLOURS.light.page],
  ['text on a dark card', COLOURS.dark.text, COLOURS.dark.card],
  ['text on a dark page', COLOURS.dark.text, COLOURS.dark.page],
  ['muted text on a dark card', COLOURS.dark.muted, COLOURS.dark.card],
  ['muted text on a dark page', COLOURS.dark.muted, COLOURS.dark.page],
  ['a button', COLOURS.button.text, COLOURS.button.ground],
])('%s can be read', (_what, text, ground) => expect(contrast(text, ground)).toBeGreaterThanOrEqual(4.5));

it('has the six that are promised', () =>
  expect(LIBRARY.map(({ name }) => name)).toEqual([
    ...['welcome', 'confirm-address', 'reset-password', 'receipt', 'invitation', 'alert'],
  ]));

describe.each(LIBRARY)('$name', ({ name, description, ...source }) => {
  const render = (variables: object) => {
    const result = engine.render({ ...source, organizationId: 'acme', key: name }, JSON.stringify(variables));
    if (result.kind !== 'rendered') throw new Error(JSON.stringify(result));
    return { subject: result.subject, html: result.html ?? '', text: result.text ?? '' };
  };
  const { subject, html, text } = render({ ...GIVEN, ...OPTIONAL });
  const document = parseDocument(html) as unknown as Node;
  const all = elementsOf(document);
  const named = (tag: string) => all.filter((element) => element.name === tag);

  it('is valid, says in its description what it needs, and renders without the rest', () => {
    const checked = engine.check(source);
    expect(checked.kind).toBe('valid');
    const bare = render(GIVEN);
    expect(bare.html).toContain('Hello,');
    const empty = engine.render({ ...source, organizationId: 'acme', key: name }, '{}');
    if (empty.kind !== 'missing') throw new Error(empty.kind);
    for (const missing of empty.names) expect(description).toContain(missing.split('.')[0]);
  });

  it('says in html and text what is given, escaped in html only', () => {
    expect(subject.length).toBeGreaterThan(5);
    expect(html).toContain('Ada &amp; Co.');
    expect(text).toContain('Ada & Co.');
    expect(text).toContain('https://example.com/start?a=1&b=2');
    expect(html).not.toMatch(/<b>|<used>|\{\{|\{%|undefined|\[object/);
    expect(text).not.toMatch(/\{\{|\{%|undefined|\[object|<td/);
  });

  it('is small, and loads nothing', () => {
    expect(Buffer.byteLength(html)).toBeLessThan(20 * 1024);
    expect(html).not.toMatch(/<(img|link|script|iframe|form|video|svg)\b|url\(|@import|src=/i);
  });

  it('can be read aloud: a language, a title, one heading, tables that are layout, links that say where', () => {
    const [root] = named('html');
    expect(root?.attribs).toMatchObject({ lang: 'en' });
    expect(named('title').map(textOf)).toEqual(named('h1').map(textOf));
    for (const table of named('table')) expect(table.attribs?.role).toBe('presentation');
    for (const link of named('a')) expect(textOf(link)).not.toMatch(/^(here|click here|link)?$/i);
    expect(html).not.toMatch(/font-size:(?:[2-9]|1[0-2])px/);
  });

  it('has a dark mode for everything that has a colour, and is well formed', () => {
    expect(html).toContain('prefers-color-scheme: dark');
    expect(html).toContain('name="color-scheme" content="light dark"');
    for (const { attribs = {} } of all) {
      const colour = /(?:^|;)color:(#\w+)/.exec(attribs.style ?? '')?.[1];
      if (colour && colour !== COLOURS.button.text) expect(attribs.class).toMatch(/text|muted/);
    }
    const tags = [...html.matchAll(/<(\/?)(table|tr|td|h1|div|a|body|head|html)\b/g)];
    const open: (string | undefined)[] = [];
    for (const [, closing, tag] of tags) {
      if (closing) expect(open.pop()).toBe(tag);
      else open.push(tag);
    }
    expect(open).toEqual([]);
  });
});
