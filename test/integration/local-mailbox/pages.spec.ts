import { message, multipart, MailboxApp } from './mailbox-app';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const PDF = Buffer.from('%PDF-1.7 \0\xff', 'latin1');
const UNKNOWN = '0192f3a0-1111-7abc-8def-0123456789ab';

const INVOICE = multipart(
  'mixed',
  [
    'From: =?utf-8?q?Ad=C3=A4?= <ada@example.org>',
    'To: Team <team@example.com>',
    'Subject: =?utf-8?b?UmVjaG51bmcg4oKs?=',
  ],
  [
    [
      'Content-Type: multipart/related; boundary=inner',
      '',
      '--inner',
      'Content-Type: text/html; charset=utf-8',
      '',
      '<p>Your invoice</p><img src="cid:logo%40example.org"><img src="cid:missing"><img src="https://t.example/x.gif">',
      '--inner',
      'Content-Type: image/png',
      'Content-ID: <logo@example.org>',
      'Content-Transfer-Encoding: base64',
      '',
      PIXEL,
      '--inner--',
    ],
    ['Content-Type: text/plain', '', 'Your invoice, as text'],
    [
      'Content-Type: application/pdf',
      'Content-Disposition: attachment; filename="Rechnung.pdf"',
      'Content-Transfer-Encoding: base64',
      '',
      PDF.toString('base64'),
    ],
  ],
);

describe('the pages of the mailbox', () => {
  let app: MailboxApp;
  beforeAll(async () => {
    app = await MailboxApp.start();
  });
  afterEach(() => app.query('delete from mailbox_messages'));
  afterAll(() => app.close());

  it('show a new user how to send the first mail', async () => {
    const page = await app.page('/mailbox');
    expect(page).toContain('No mail yet');
    expect(page).toContain('curl https://mail.example.org/v1/emails \\\n');
    expect(page).toContain('credentials.json');
  });

  it('list the newest first, fifty at a time, and look again by themselves', async () => {
    await app.query(`
      insert into mailbox_messages (id, received_at, return_path, recipients, sender, subject, size, raw)
      select uuid_v7_floor(at), at, 'f@example.org', '{a@example.com,b@example.com,c@example.com,d@example.com}', '',
        'Number ' || n || ';', 2048, 'x'
      from (select n, timestamptz '2026-03-04T05:06:07Z' + make_interval(secs => n) as at from generate_series(1, 120) n) s`);
    const first = await app.page('/mailbox');
    expect(first.match(/Number \d+;/g)).toEqual(Array.from({ length: 50 }, (_each, index) => `Number ${120 - index};`));
    expect(first).toContain('http-equiv="refresh"');
    expect(first).toContain('<time datetime="2026-03-04T05:08:07.000Z">2026-03-04 05:08:07</time>');
    expect(first).toContain('a@example.com, b@example.com, c@example.com and 1 more');
    expect(first).toContain('2.0 KB');
    expect(first).toContain('href="/mailbox?page=2"');
    expect(first).not.toContain('rel="prev"');
    const last = await app.page('/mailbox?page=3');
    expect(last.match(/Number \d+;/g)).toHaveLength(20);
    expect(last).not.toContain('rel="next"');
    expect(await app.page('/mailbox?page=9')).toContain('Page 9 of 3');
    for (const page of ['0', '-1', 'x', '1001']) expect((await app.get(`/mailbox?page=${page}`)).status).toBe(400);
    expect(await app.messages()).toHaveLength(100);
  });

  it('lose nothing that is written: what reloads itself has no field, and a link stops it', async () => {
    await app.deliver(message(['Subject: plain'], ['text only']));
    const live = await app.page('/mailbox');
    expect(live).toContain('http-equiv="refresh"');
    expect(live).not.toContain('<input');
    const [, link = ''] = /<a class="button" href="([^"]+)">Search, or stop/.exec(live) ?? [];
    const stopped = await app.page(link);
    expect(stopped).toContain('<input type="search"');
    expect(stopped).not.toContain('refresh');
    expect(stopped).toContain('<a class="button" href="/mailbox">Show all, live</a>');
    // Its pages are stopped as well.
    expect(await app.page(`${link}&page=2`)).toContain('href="/mailbox?page=1&amp;live=false"');
  });

  it('show a message with its html, its text and its attachments', async () => {
    const id = await app.deliver(INVOICE, ['one@example.com', 'two@example.com']);
    const page = await app.page(`/mailbox/${id}`);
    expect(page).toContain('<title>Rechnung €</title>');
    expect(page).toContain('Adä &lt;ada@example.org&gt;');
    expect(page).toContain('Team &lt;team@example.com&gt;');
    expect(page).toContain('one@example.com, two@example.com');
    expect(page).toContain('Your invoice, as text');
    expect(page).toContain(
      `<iframe sandbox="" referrerpolicy="no-referrer" title="The message's html" src="/mailbox/${id}/html">`,
    );
    expect(page).toMatch(/Rechnung\.pdf.*application\/pdf.*11 B/s);
    expect(page).toContain('=?utf-8?b?UmVjaG51bmcg4oKs?=');
    expect(page).not.toContain('refresh');
  });

  it('find messages by sender, recipient or subject, and delete one or all, for their own buttons only', async () => {
    const listed = async (query: string) => {
      const page = await app.page(`/mailbox?q=${encodeURIComponent(query)}`);
      return [...page.matchAll(/href="\/mailbox\/([0-9a-f-]{36})"/g)].map(([, id]) => id);
    };
    const press = (path: string, headers: Partial<Record<'sec-fetch-site' | 'origin', string>> = {}) =>
      fetch(`http://127.0.0.1:${app.httpPort}/mailbox${path}`, { method: 'POST', headers, redirect: 'manual' });
    const other = await app.deliver(INVOICE, ['one@example.com']);
    const id = await app.deliver(INVOICE, ['Needle@example.com']);
    expect(await listed('nEEdle')).toEqual([id]);
    expect(await listed('rechnung')).toEqual([id, other]);
    expect(await listed('ada@example')).toEqual([id, other]);
    expect(await listed('%')).toEqual([]);
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ]) {
      expect((await press(`/${id}/delete`, headers)).status).toBe(403);
      expect((await press('/delete', headers)).status).toBe(403);
    }
    const gone = await press(`/${id}/delete`, { 'sec-fetch-site': 'same-origin' });
    expect([gone.status, gone.headers.get('location')]).toEqual([303, '/mailbox']);
    expect((await press(`/${id}/delete`)).status).toBe(404);
    expect((await app.messages()).map((message) => message.id)).toEqual([other]);
    // The list's button asks first.
    expect(await app.page('/mailbox')).toMatch(/<a [^>]*href="\/mailbox\/delete">Delete all<\/a>/);
    const asked = await app.page('/mailbox/delete');
    expect(asked).toContain(
      '<form method="post" action="/mailbox/delete"><button class="button danger">Delete 1 message</button>',
    );
    expect((await app.messages()).map((message) => message.id)).toEqual([other]);
    expect((await press('/delete')).status).toBe(303);
    expect(await app.messages()).toEqual([]);
  });

  it('name the links of the html, which its frame does not follow', async () => {
    const html = [
      '<a href="https://shop.example/reset?token=a&amp;b=c">Set a new <b>password</b></a> <a href="https://shop.example/reset?token=a&b=c">again</a>',
      '<a href="javascript:alert(1)">x</a><a href="/relative">y</a><a name="top"></a><A HREF=" http://localhost:4000/app "><img alt="Open"></A>',
      '<a href="https://xn--80ak6aa92e.example/<script>">\u202eevil',
    ].join('');
    const id = await app.deliver(`Subject: x\r\nContent-Type: text/html; charset=utf-8\r\n\r\n${html}\r\n`);
    const page = await app.page(`/mailbox/${id}`);
    const links = [
      ...page.matchAll(/<li><bdi>(.*?)<\/bdi> <a href="(.*?)" target="_blank" rel="noreferrer">(.*?)<\/a>/g),
    ];
    expect(links.map(([, text, href]) => [text, href])).toEqual([
      ['Set a new password', 'https://shop.example/reset?token=a&amp;b=c'],
      ['', 'http://localhost:4000/app'],
      ['evil', 'https://xn--80ak6aa92e.example/%3Cscript%3E'],
    ]);
    for (const [, , href, shown] of links) expect(shown).toBe(href);
    expect(await (await app.get(`/mailbox/${id}/html`)).text()).toContain('<a href=#- href="https://shop.example/');
  });

  it('lists for tools what the pages list', async () => {
    const id = await app.deliver(INVOICE, ['one@example.com', 'two@example.com']);
    expect(await app.messages()).toEqual([
      {
        id,
        receivedAt: app.clock.now().toISOString(),
        returnPath: 'from@example.org',
        recipients: ['one@example.com', 'two@example.com'],
        sender: 'Adä <ada@example.org>',
        subject: 'Rechnung €',
        size: Buffer.byteLength(INVOICE) + 2,
      },
    ]);
  });

  it('serve the html as a document that can do nothing', async () => {
    const id = await app.deliver(INVOICE);
    const response = await app.get(`/mailbox/${id}/html`);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; img-src data: cid:; style-src 'unsafe-inline'; sandbox; frame-ancestors 'self';/,
    );
    expect(response.headers.get('referrer-policy')).toBe('no-referrer');
    const html = await response.text();
    expect(html).toContain(`<img src="data:image/png;base64,${PIXEL}">`);
    expect(html).toContain('<img src="cid:missing">');
  });

  it('hand out the message and its attachments as files', async () => {
    const id = await app.deliver(INVOICE);
    const raw = await app.get(`/mailbox/${id}/raw`);
    expect(Object.fromEntries(raw.headers)).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-disposition': `attachment; filename="${id}.eml"; filename*=UTF-8''${id}.eml`,
      'x-content-type-options': 'nosniff',
    });
    expect(await raw.text()).toBe(`${INVOICE}\r\n`);
    const files = await Promise.all([0, 1].map((index) => app.get(`/mailbox/${id}/attachments/${index}`)));
    const pdf = files.find((file) => file.headers.get('content-disposition')?.includes('Rechnung.pdf'));
    if (!pdf) throw new Error('no file has the name of the attachment');
    expect(Object.fromEntries(pdf.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'x-content-type-options': 'nosniff',
    });
    expect(Buffer.from(await pdf.arrayBuffer())).toEqual(PDF);
  });

  it('have one stylesheet, and policies that let in nothing else', async () => {
    const style = await app.get('/mailbox/style.css');
    expect(style.headers.get('content-type')).toBe('text/css; charset=utf-8');
    const id = await app.deliver(INVOICE);
    for (const path of ['/mailbox', `/mailbox/${id}`]) {
      const response = await app.get(path);
      const policy = response.headers.get('content-security-policy');
      expect(policy).toMatch(/^default-src 'none'; style-src 'self'; frame-src 'self'; frame-ancestors 'self'/);
      expect(policy).not.toMatch(/unsafe|https?:|\*|script-src/);
      const page = await response.text();
      expect(page).not.toMatch(/<script|<style|\sstyle=|\son[a-z]+=/i);
      expect(page).toContain('name="viewport"');
    }
  });

  it('return 404 for unknown pages', async () => {
    const id = await app.deliver(message(['Subject: plain'], ['text only']));
    const paths = [UNKNOWN, `${UNKNOWN}/html`, `${UNKNOWN}/raw`, `${UNKNOWN}/attachments/0`, 'nonsense', `${id}/html`];
    paths.push(...['0', '-1', 'x', '1e3', '99999'].map((index) => `${id}/attachments/${index}`));
    for (const path of paths) {
      const response = await app.get(`/mailbox/${path}`);
      expect([path, response.status]).toEqual([path, 404]);
      expect(await response.json()).toMatchObject({ error: { code: 'resource_not_found' } });
    }
  });

  it('show errors as pages in browsers, with a way back', async () => {
    const accept = 'text/html,application/xhtml+xml,*/*;q=0.8';
    for (const [path, status] of [
      [UNKNOWN, 404],
      ['nonsense', 404],
      ['?page=x', 400],
    ] as const) {
      const response = await app.get(`/mailbox${path.startsWith('?') ? '' : '/'}${path}`, { accept });
      expect([path, response.status]).toEqual([path, status]);
      expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(await response.text()).toContain('<a href="/mailbox">');
    }
  });

  it('are there for the names of this host only', async () => {
    const allowed = ['localhost', 'localhost:3000', '127.0.0.1:3000', '[::1]:3000', 'LOCALHOST', 'mail.example.org'];
    for (const host of allowed) expect([host, await app.statusFor(host)]).toEqual([host, 200]);
    const refused = ['rebound.example', 'localhost.example', 'xlocalhost', '127.0.0.1.nip.io', '10.0.0.1', '', '[::2]'];
    for (const host of refused) {
      for (const path of ['/mailbox', '/mailbox/messages.json', '/mailbox/style.css', `/mailbox/${UNKNOWN}`]) {
        expect([host, path, await app.statusFor(host, path)]).toEqual([host, path, 404]);
      }
    }
  });

  it('are no part of the documented API', () => {
    // Those of the modules that it needs are.
    expect(app.documentedPaths().filter((path) => !path.startsWith('/v1/'))).toEqual([]);
  });
});

describe('in another mode', () => {
  it('there are no pages', async () => {
    const app = await MailboxApp.start({ DELIVERY_MODE: 'relay', RELAY_URL: 'smtp://127.0.0.1:2525' });
    for (const path of ['/mailbox', '/mailbox/messages.json']) expect((await app.get(path)).status).toBe(404);
    await app.close();
  });
});
