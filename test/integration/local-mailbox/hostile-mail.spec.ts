import { message, multipart, MailboxApp } from './mailbox-app';

const SCRIPT = '<script>alert(1)</script>';
const ATTRIBUTE = '"><script>alert(1)</script><x y="';
const HANDLER = '\'"><img src=x onerror=alert(1)>';
const encoded = (text: string) => `=?utf-8?B?${Buffer.from(text).toString('base64')}?=`;

/** The forms of the pages themselves: to search and to delete. */
const OWN_FORMS = /<form method="(get|post)" action="\/mailbox(\/[0-9a-f-]{36})?(\/delete)?"( role="search")?>/g;

/** Nothing that the mail brought has become markup: what the templates wrote is all there is. */
function expectInert(page: string): void {
  expect(page.match(OWN_FORMS)?.length ?? 0).toBeLessThanOrEqual(2);
  expect(page.replace(OWN_FORMS, '')).not.toMatch(/<script|<img|<svg|<object|<embed|<form|<base|javascript:/i);
  expect(page).not.toMatch(/<[^>]*\son[a-z]+\s*=/i);
  expect(page).not.toMatch(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
  expect(page.match(/<meta /g)?.length).toBeLessThanOrEqual(4);
  expect(page.match(/<title>/g)).toHaveLength(1);
}

describe('hostile mail', () => {
  let app: MailboxApp;
  beforeAll(async () => {
    app = await MailboxApp.start();
  });
  beforeEach(() => app.query('delete from mailbox_messages'));
  afterAll(() => app.close());

  /** Every page that a message appears on. */
  async function pagesOf(mail: string | Buffer): Promise<{ id: string; list: string; page: string }> {
    const id = await app.deliver(mail);
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    const [list, page] = await Promise.all([app.page('/mailbox'), app.page(`/mailbox/${id}`)]);
    expectInert(list);
    expectInert(page);
    await app.page(`/mailbox/${id}/raw`);
    expect(await app.messages()).toHaveLength(1);
    return { id, list, page };
  }

  it.each([
    SCRIPT,
    ATTRIBUTE,
    HANDLER,
    '</title><script>x</script>',
    '--><script>x</script>',
    '{{7*7}}${7*7}',
    '&lt;b&gt;',
  ])('stays text in every field: %s', async (text) => {
    for (const written of [text, encoded(text)]) {
      await app.query('delete from mailbox_messages');
      const { list, page } = await pagesOf(
        message(
          [
            `Subject: ${written}`,
            `From: ${written} <a@example.org>`,
            `To: ${written} <b@example.org>`,
            `Reply-To: ${written}`,
            `${text.replace(/[\s:]/g, '')}: name`,
            `X-Value: ${written}`,
          ],
          [text],
        ),
      );
      const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
      const shown = escaped.replaceAll('"', '&quot;').replaceAll("'", '&#39;');
      expect(list).toContain(shown);
      expect(page).toContain(`<h1><bdi>${shown}</bdi></h1>`);
    }
  });

  it('breaks out of no header with line ends and NUL in encoded words', async () => {
    const evil = 'one\r\nX-Injected: yes\r\n\r\n<b>two</b>\0\u2028\u202egpj.exe';
    const { id, page } = await pagesOf(message([`Subject: ${encoded(evil)}`, `From: ${encoded(evil)}`], ['x']));
    expect(page).toContain('one X-Injected: yes &lt;b&gt;two&lt;/b&gt; gpj.exe');
    expect((await app.messages())[0]?.subject).toBe('one X-Injected: yes <b>two</b> gpj.exe');
    expect((await app.get(`/mailbox/${id}`)).headers.get('x-injected')).toBeNull();
  });

  it('shows raw NUL, lone bytes and controls as what they are', async () => {
    const fields = Buffer.concat([
      Buffer.from('Subject: a\0b\x1b[31mc\x7f'),
      Buffer.from([0xff, 0xfe, 0x80]),
      Buffer.from('\r\nFrom: \0\r\n\r\nbody\0\x1b[2J\x08'),
    ]);
    const { page } = await pagesOf(fields);
    expect(page).toContain('a b [31mc');
  });

  it('names files as the sender likes, and no path, header or markup comes of it', async () => {
    const names = [
      `"x.txt${SCRIPT}"`,
      '"../../etc/passwd"',
      '"C:\\\\windows\\\\evil.exe"',
      '"a\\"; filename=\\"b.exe"',
      `"${encoded('a\r\nSet-Cookie: x=1\r\n\0.txt')}"`,
      `"${encoded('photo\u202egpj.exe')}"`,
      `"${'n'.repeat(5_000)}.txt"`,
      '""',
      `"${encoded('Größe 100%.txt')}"`,
    ];
    const parts = names.map((name) => [
      `Content-Type: ${SCRIPT.replaceAll('/', '')}/x`,
      `Content-Disposition: attachment; filename=${name}`,
      '',
      'content',
    ]);
    const { id, page } = await pagesOf(multipart('mixed', ['Subject: files'], parts));
    expect(page).not.toContain('passwd"');
    for (let index = 0; index < names.length; index += 1) {
      const file = await app.get(`/mailbox/${id}/attachments/${index}`);
      expect([file.status, await file.text()]).toEqual([200, 'content']);
      expect(file.headers.get('content-type')).toBe('application/octet-stream');
      expect(file.headers.get('set-cookie')).toBeNull();
      expect(file.headers.get('content-disposition')).toMatch(
        /^attachment; filename="[^"\\/\x00-\x1f\x7f-\uffff]{1,160}"; filename\*=UTF-8''[\w.!~%-]{1,900}$/,
      );
    }
  });

  it('is sandboxed when it is html, whatever it says', async () => {
    const html = [
      `${SCRIPT}<img src=x onerror=alert(1)><iframe src="/mailbox"></iframe><base href="https://evil.example/">`,
      '<meta http-equiv="refresh" content="0;url=https://evil.example/"><form action="/v1/emails"><input></form>',
      '<link rel="stylesheet" href="https://evil.example/x.css"><svg onload=alert(1)></svg>',
    ];
    const { id, page } = await pagesOf(message(['Subject: x', 'Content-Type: text/html'], html));
    expect(page).toContain('<iframe sandbox=""');
    const response = await app.get(`/mailbox/${id}/html`);
    const document = await response.text();
    expect(document).toContain(SCRIPT);
    expect(document).not.toContain('<iframe');
    const policy = response.headers.get('content-security-policy')?.split('; ') ?? [];
    expect(policy).toEqual(
      expect.arrayContaining(["default-src 'none'", 'sandbox', "form-action 'none'", "base-uri 'none'"]),
    );
    expect(policy.join()).not.toMatch(/allow-|script|https?:/);
  });

  it('turns no image into a document: only small pictures are put into the html', async () => {
    const image = (type: string, id: string, content: string) => [
      `Content-Type: ${type}`,
      `Content-ID: <${id}>`,
      'Content-Transfer-Encoding: base64',
      '',
      ...(Buffer.from(content)
        .toString('base64')
        .match(/.{1,76}/g) ?? []),
    ];
    const references = ['html', 'svg', 'big', 'gif'].map((id) => `<img src="cid:${id}">`).join('');
    const mail = multipart(
      'related',
      ['Subject: x'],
      [
        ['Content-Type: text/html', '', references.repeat(100)],
        image('text/html', 'html', SCRIPT),
        image('image/svg+xml', 'svg', '<svg onload="alert(1)"/>'),
        image('image/png', 'big', 'x'.repeat(600_000)),
        image('image/gif', 'gif', 'y'.repeat(100_000)),
      ],
    );
    const { id } = await pagesOf(mail);
    const html = await app.page(`/mailbox/${id}/html`);
    expect(html).toContain('cid:html');
    expect(html).toContain('cid:svg');
    expect(html).toContain('cid:big');
    expect(html.match(/data:[^;]*/g)).toEqual(Array.from({ length: 41 }, () => 'data:image/gif'));
  });

  it.each([
    ['a header of a megabyte in one line', message([`Subject: ${'s'.repeat(1_000_000)}`, 'To: a@example.com'])],
    ['a header of a megabyte, folded', message([`Subject: x${'\r\n y'.repeat(250_000)}`])],
    ['a hundred thousand header fields', message(Array.from({ length: 100_000 }, (_each, n) => `X-${n}: v`))],
    ['nothing but encoded words', message([`Subject: ${'=?utf-8?q?=41?= '.repeat(20_000)}`])],
    ['no end of the header', 'Subject: x\r\nTo: y'],
    ['no header at all', '\r\n\r\nbody'],
    ['nine megabytes of empty lines', `Subject: x\r\n\r\n${'\r\n'.repeat(4_700_000)}`],
    ['bare line feeds', 'Subject: x\nTo: y\n\nbody\nbody'],
    ['colons and spaces only', ':\r\n :\r\n: \r\n\t\r\n'],
    ['a boundary that never comes', 'Content-Type: multipart/mixed; boundary=never\r\n\r\nx'],
    ['a boundary that is empty', 'Content-Type: multipart/mixed; boundary=""\r\n\r\n--\r\n\r\nx\r\n----'],
    [
      'a part within itself',
      `Content-Type: multipart/mixed; boundary=a\r\n\r\n${'--a\r\nContent-Type: multipart/mixed; boundary=a\r\n\r\n'.repeat(500)}`,
    ],
    ['broken base64', 'Content-Type: text/plain\r\nContent-Transfer-Encoding: base64\r\n\r\n!!!!=a=b=\0'],
    [
      'broken quoted-printable',
      'Content-Type: text/html\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=G=3=\r\n==',
    ],
    ['an unknown charset', 'Content-Type: text/html; charset=klingon\r\nSubject: =?klingon?q?x?=\r\n\r\nx'],
    ['UTF-7', 'Content-Type: text/html; charset=utf-7\r\n\r\n+ADw-script+AD4-alert(1)+ADw-/script+AD4-'],
    ['UTF-16', 'Content-Type: text/plain; charset=utf-16le\r\n\r\n<\0s\0c\0r\0i\0p\0t\0>\0'],
    [
      'ten thousand attachments',
      multipart(
        'mixed',
        [],
        Array.from({ length: 10_000 }, () => ['Content-Type: a/b', '', 'x']),
      ),
    ],
  ])('is shown with %s', async (_what, mail) => {
    const { page } = await pagesOf(mail);
    expect(page.length).toBeLessThan(2_000_000);
  });

  it('is taken apart to a depth of eight, and not when it is larger than ten megabytes', async () => {
    let nested = 'Content-Type: text/html\r\n\r\n<b>inside</b>';
    for (let depth = 0; depth < 200; depth += 1) {
      nested = `Content-Type: multipart/mixed; boundary=b${depth}\r\n\r\n--b${depth}\r\n${nested}\r\n--b${depth}--`;
    }
    const deep = await pagesOf(`Subject: deep\r\n${nested}`);
    expect(deep.page).toContain('<bdi>multipart/mixed</bdi>');
    expect(deep.page).toContain('deep');
    await app.query('delete from mailbox_messages');
    const large = await pagesOf(`Subject: large\r\n\r\n${`${'x'.repeat(998)}\r\n`.repeat(11_000)}`);
    expect(large.page).toContain('too large to be parsed');
    expect((await app.get(`/mailbox/${large.id}/html`)).status).toBe(404);
  });

  it('cannot make itself look like another message through the envelope', async () => {
    const { list } = await pagesOf(message(['Subject: x']));
    expect(list).toContain('from@example.org');
    const id = await app.deliver(message(['Subject: y']), [
      '<script>@example.com'.replace(/[<>]/g, ''),
      "o'brien&co@example.com",
    ]);
    expect(await app.page(`/mailbox/${id}`)).toContain('o&#39;brien&amp;co@example.com');
  });
});
