import * as liquidjs from 'liquidjs';
import { Metrics } from '../../../common/metrics/metrics';
import { adaptLiquid } from './adapt-liquid';
import { RenderThreads } from './render-threads';
import { type CheckResult, type RenderResult, TemplateEngine, type TemplateParts } from './template-engine';

/** Of processor time: by elapsed time, a busy machine would end what takes microseconds. */
const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
const engine = new TemplateEngine(liquidjs, cpuMs, adaptLiquid);
let versions = 0;

function render(parts: Partial<TemplateParts>, variables: object = {}) {
  const template = { subject: 'Subject', html: undefined, text: undefined, ...parts };
  versions += 1;
  return engine.render({ ...template, organizationId: 'acme', key: `template ${versions}` }, JSON.stringify(variables));
}

const htmlOf = (html: string, variables: object = {}) => {
  const result = render({ html }, variables);
  return result.kind === 'rendered' ? result.html : result;
};

describe('TemplateEngine', () => {
  it('renders subject, html and text; only html is escaped, and a subject stays one line', () => {
    const variables = { name: '<b>Ada</b> & Co.\r\nBcc: eve@example.com' };
    expect(render({ subject: 'Hi {{ name }}', html: '<p>{{ name }}</p>', text: 'Hi {{ name }}' }, variables)).toEqual({
      kind: 'rendered',
      subject: 'Hi <b>Ada</b> & Co. Bcc: eve@example.com',
      html: '<p>&lt;b&gt;Ada&lt;/b&gt; &amp; Co.\r\nBcc: eve@example.com</p>',
      text: `Hi ${variables.name}`,
    });
  });

  it.each([
    ['{{ x | escape }}', '&lt;i&gt;'],
    ['{{ x | json }}', '&#34;&lt;i&gt;&#34;'],
    ['{{ x | upcase }}', '&lt;I&gt;'],
    ['{{ x | escape | upcase }}', '&amp;LT;I&amp;GT;'],
    ['{{ lines | newline_to_br }}', '&lt;a&gt;<br />\nb'],
    ['{{ lines | escape | newline_to_br }}', '&lt;a&gt;<br />\nb'],
    ['{{ x | raw }}', '<i>'],
    ['{% echo x %}', '&lt;i&gt;'],
    ['{{ object }}', '[object Object]'],
  ])('escapes once in html: %s', (html, expected) => {
    expect(htmlOf(html, { x: '<i>', lines: '<a>\nb', object: { a: 1 } })).toBe(expected);
  });

  it.each([
    ['many', Array.from({ length: 501 }, (_, index) => `{{ v${index} }}`).join(''), 'it uses more than 500 variables'],
    ['long', `{{ a${'.b'.repeat(100)} }}`, 'it uses a variable whose name is longer than 200 characters'],
    [
      'long, all together',
      Array.from({ length: 50 }, (_, at) => `{{ v${at}${'.b'.repeat(90)} }}`).join(''),
      'its variables have more than 8000 characters',
    ],
    ['odd', '{{ ["a\\u0000"] }}', 'it uses a variable whose name has a NUL character or half of a surrogate pair'],
    ['odd', '{{ a["\\ud83d"].b }}', 'it uses a variable whose name has a NUL character or half of a surrogate pair'],
    ['deep', '{% for i in (1..9) %}'.repeat(10_000), 'it is nested too deeply'],
  ])(
    'refuses variables that are too %s: what lists and refusals say of a template is bounded',
    (_what, html, message) => {
      const checked = engine.check({ subject: 's', html, text: undefined });
      expect(checked).toMatchObject({
        kind: 'invalid',
        problems: expect.arrayContaining([expect.objectContaining({ message })]),
      });
    },
  );

  it.each([
    ['captures of itself', '{% capture b %}{{b}}{{b}}{% endcapture %}'.repeat(22) + '{{ b | size }}'],
    ['captures in a loop', '{% for i in (1..30) %}{% capture c %}{{ a }}{% endcapture %}{% endfor %}x'],
    ['replacements by less', '{% for i in (1..30) %}{{ a | replace: a, b }}{% endfor %}x'],
  ])('counts the text of %s: a thread that runs out of memory can end the process', (_what, text) => {
    expect(render({ text }, { a: 'x'.repeat(200_000), b: 'xx' })).toEqual({
      kind: 'failed',
      field: 'text',
      message: 'it creates too much text: shorten its loops and texts',
    });
  });

  it('names a variable in part whose name is a long value', () => {
    expect(render({ text: `{{ o[a] }}` }, { o: {}, a: 'x'.repeat(200_000) })).toEqual({
      kind: 'missing',
      names: [expect.stringMatching(/^o?.{0,2}x{190,200}$/)],
    });
  });

  it('captures what the library captures', () => {
    const text =
      '{% capture a %}{% for i in list %}{{ i }}{% if i == 2 %}{% break %}{% endif %},{% endfor %}{% endcapture %}[{{ a }}]';
    expect(render({ text }, { list: [1, 2, 3] })).toMatchObject({ kind: 'rendered', text: '[1,2]' });
    expect(render({ text: '{% capture a %}{{ b }}{% endcapture %}{{ a }}' })).toEqual({
      kind: 'missing',
      names: ['b'],
    });
    expect(htmlOf('{% capture a %}<i>{{ b }}</i>{% endcapture %}{{ a | raw }}', { b: '<' })).toBe('<i>&lt;</i>');
  });

  it('names what is missing in text that can be stored', () => {
    const text = `{% assign nul = "%00" | url_decode %}{{ o[nul] }}{{ o[a] }}`;
    const { names } = render({ text }, { o: {}, a: `x${'😀'.repeat(200)}` }) as RenderResult & { kind: 'missing' };
    expect(names).toHaveLength(2);
    for (const name of names) expect(name).not.toMatch(/\0|\p{Cs}/u);
  });

  it('names what is missing in part, of a template from before that was refused', () => {
    const { names } = htmlOf(`{{ a${'.b'.repeat(50_000)} }}`) as RenderResult & { kind: 'missing' };
    expect(names.map((name) => name.length)).toEqual([200]);
  });

  it('names every variable that is missing, in all parts', () => {
    const parts = {
      subject: '{{ order.number }}',
      html: '{{ name }}{% for item in items %}{{ item.price }}{% endfor %}',
      text: '{{ link }} {{ name }}',
    };
    expect(render(parts, { order: {}, items: [{}, { price: 1 }] })).toEqual({
      kind: 'missing',
      names: ['order.number', 'name', 'item.price', 'link'],
    });
  });

  it('names what it asks for in full, whatever of it is missing', () => {
    const parts = {
      subject: '{{ order.number }} {{ order.items[0].name }} {{ a-b }}',
      html: '{% for item in cart.lines %}{{ item.x }}{% endfor %}{{ "order.name" | append: order.total.sum }}',
      text: '{{ user.name | upcase }}{{ reorder.order }}',
    };
    expect(render(parts, {})).toEqual({
      kind: 'missing',
      names: [...['order.number', 'order.items', 'a-b', 'cart.lines', 'order.total.sum', 'user.name', 'reorder.order']],
    });
    expect(htmlOf('{{ order.number | default: "none" }}')).toBe('none');
  });

  it('misses in assignments what it misses in output, and no name that they make', () => {
    const greeting = '{% assign name = user.first | capitalize %}{% capture line %}{{ name }}{{ x }}{% endcapture %}';
    const html = `${greeting}{% assign copy = y %}Hello {{ name }} {{ line }} {{ copy }}`;
    expect(htmlOf(html)).toEqual({ kind: 'missing', names: ['user.first', 'x', 'y'] });
    expect(htmlOf(html, { user: { first: 'ada' }, x: 1, y: 2 })).toBe('Hello Ada Ada1 2');
    expect(htmlOf('{% assign name = user.first | default: "you" %}Hello {{ name }}')).toBe('Hello you');
  });

  it('takes a template’s word for what to do without a variable', () => {
    expect(htmlOf('{% if vip %}VIP{% endif %}{{ name | default: "friend" }}')).toBe('friend');
  });

  it('lets no filter make what a mail cannot hold', () => {
    expect(
      htmlOf('a{{ "%00" | url_decode }}{{ "AGI=" | base64_decode }}{{ smile | split: "" | first }}c', { smile: '😀' }),
    ).toBe('ab\uFFFDc');
  });

  it('reaches neither prototypes nor files nor other templates', () => {
    expect(htmlOf('{{ name.constructor }}', { name: 'x' })).toMatchObject({ kind: 'missing' });
    expect(htmlOf('{{ toString }}')).toMatchObject({ kind: 'missing' });
    for (const tag of ['include "a"', 'render "a"', 'layout "a"', 'block a']) {
      const source = { subject: 's', html: `<p>\n {% ${tag} %}`, text: undefined };
      expect(engine.check(source)).toEqual({
        kind: 'invalid',
        problems: [{ field: 'html', message: expect.stringContaining('not found') as string, line: 2, column: 2 }],
      });
    }
  });

  it('says where a template is wrong, part by part', () => {
    const source = { subject: '{{ a', html: 'ok\nok {% if a %}', text: '{{ a | nope }}' };
    const { problems } = engine.check(source) as CheckResult & { kind: 'invalid' };
    expect(problems.map(({ field, line, column }) => [field, line, column])).toEqual([
      ['subject', 1, 1],
      ['html', 2, 4],
      ['text', 1, 1],
    ]);
  });

  it('lists what a template asks for', () => {
    const html = '{% for item in order.items %}{{ item.name }}{% endfor %}{% assign a = 1 %}{{ a }}{{ name }}';
    expect(engine.check({ subject: 'Hi {{ name }}', html, text: undefined })).toEqual({
      kind: 'valid',
      variables: ['name', 'order.items'],
    });
  });

  it.each([
    ['output', '{% for i in (1..2000) %}{{ big }}{% endfor %}', 'bytes come out'],
    ['a range', '{% for i in (1..1000000000) %}{% endfor %}', 'creates too much text'],
    [
      'doubling',
      `{% assign a = big %}${'{% capture a %}{{ a }}{{ a }}{% endcapture %}'.repeat(40)}{{ a }}`,
      /too much|takes more/,
    ],
  ])('bounds %s', (_what, html, message) => {
    expect(htmlOf(html, { big: 'x'.repeat(20_000) })).toMatchObject({
      kind: 'failed',
      field: 'html',
      message: expect.stringMatching(message) as string,
    });
  });

  it('ends no template for the work of others: a thread that waits for its turn is not slow', () => {
    const others = new TemplateEngine(liquidjs, () => 0, adaptLiquid);
    const text = '{% for i in (1..5000) %}{% for j in (1..100) %}{% endfor %}{% endfor %}done';
    const template = { organizationId: 'acme', key: 'waiting', subject: 's', html: undefined, text };
    expect(others.render(template, '{}')).toMatchObject({ kind: 'rendered', text: 'done' });
  });

  it('keeps parsed sources within the share of their organization', () => {
    const text = 'x'.repeat(TemplateEngine.CACHED_CHARACTERS / 2);
    for (let index = 0; index < 5; index += 1) render({ text });
    const kept = (engine as unknown as { parsed: Map<string, Map<string, unknown>> }).parsed.get('acme');
    expect(kept?.size).toBeLessThanOrEqual(2);
  });
});

describe('RenderThreads', () => {
  const threads = new RenderThreads(new Metrics());
  afterAll(() => threads.close());
  const ask = (organizationId: string, html: string) =>
    threads.render({ organizationId, key: html, subject: 's', html, text: undefined }, '{"text":"a b"}');

  it('renders and checks as the engine does', async () => {
    await expect(ask('acme', '<p>{{ text }}</p>')).resolves.toMatchObject({ kind: 'rendered', html: '<p>a b</p>' });
    await expect(threads.check('acme', { subject: '{% if', html: undefined, text: '' })).resolves.toMatchObject({
      kind: 'invalid',
    });
  });

  it('ends what the limits of the engine do not see; others do not wait for it, and it goes on', async () => {
    // Lists that hold each other are compared as often as there are ways through them.
    const nest = (name: string) =>
      `{% assign ${name} = text | split: "" %}${`{% assign ${name} = ${name} | push: ${name} %}`.repeat(60)}`;
    const endless = `${nest('a')}${nest('b')}{% if a == b %}same{% endif %}`;
    const stalls = Array.from({ length: 3 }, () => ask('hostile', endless));
    let stalled = stalls.length;
    for (const stall of stalls) void stall.then(() => (stalled -= 1));
    await expect(ask('acme', 'Hello')).resolves.toMatchObject({ kind: 'rendered', html: 'Hello' });
    expect(stalled).toBeGreaterThan(0);
    await expect(Promise.all(stalls)).resolves.toEqual([undefined, undefined, undefined]);
    await expect(ask('hostile', 'Hello')).resolves.toMatchObject({ kind: 'rendered' });
  });
});
