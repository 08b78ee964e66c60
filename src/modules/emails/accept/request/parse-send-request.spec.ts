import fc from 'fast-check';
import { FieldReader } from './field-reader';
import { type ParsedSendRequest, parseSendRequest } from './parse-send-request';

const NOW = new Date('2026-11-20T10:00:00Z');
const MINIMAL = { from: 'hello@waybill.test', to: ['ada@example.com'], subject: 'Hi', text: 'Hello' };

const parse = (fields: Record<string, unknown>): ParsedSendRequest => parseSendRequest({ ...MINIMAL, ...fields }, NOW);

function accepted(fields: Record<string, unknown>) {
  const parsed = parse(fields);
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.details));
  return parsed.request;
}

function errorsOf(fields: Record<string, unknown>): string[] {
  const parsed = parse(fields);
  return parsed.ok ? [] : Object.keys(parsed.error.details?.validation ?? {});
}

describe('parseSendRequest', () => {
  it.each(['metadata', 'template'])('writes no JSON of a huge %s to find that it is too long', (field) => {
    const stringify = jest.spyOn(JSON, 'stringify');
    const huge = { a: 'x'.repeat(10_000_000) };
    expect(parse({ [field]: field === 'template' ? { name: 'a', variables: huge } : huge }).ok).toBe(false);
    expect(stringify).not.toHaveBeenCalled();
  });

  it.each([
    ['at the top', (made: object) => made],
    ['in a recipient', (made: object) => ({ to: [made] })],
    ['in an attachment', (attachment: object) => ({ attachments: [attachment] })],
    ['in tracking', (tracking: object) => ({ tracking })],
    ['in a template', (template: object) => ({ template })],
    ['among headers', (headers: object) => ({ headers })],
  ])('repeats little of the names that a client makes up %s', (_place, fields) => {
    const made = Object.fromEntries(Array.from({ length: 45 }, (_, index) => [`${index}`.padStart(100_000, 'x'), 1]));
    const parsed = parse(fields(made) as Record<string, unknown>);
    expect(JSON.stringify(parsed).length).toBeLessThan(20_000);
    expect(parsed.ok).toBe(false);
  });

  it('lists some of very many problems, and says that there are more', () => {
    const made = () => Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`${index}`.padStart(64, 'x'), 1]));
    const parsed = parseSendRequest({ to: Array.from({ length: 500 }, made) }, NOW, new FieldReader('3.'));
    const { validation } = (parsed.ok ? {} : parsed.error.details) as { validation: Record<string, string[]> };
    expect(Object.keys(validation)).toHaveLength(51);
    expect(validation['3.body']).toEqual(['body has further problems, which are not listed']);
    expect(parse({ to: [] }).ok).toBe(false);
    expect(errorsOf({ to: [] })).toEqual(['to']);
  });

  it('brings a minimal request into normal form', () => {
    expect(accepted({})).toMatchObject({
      from: { localPart: 'hello', domain: 'waybill.test', name: undefined },
      recipients: [{ email: 'ada@example.com', kind: 'to' }],
      category: 'transactional',
      tracking: { opens: undefined, clicks: undefined },
    });
  });

  it('completes the sender', () => {
    expect(accepted({ from: undefined }).from).toEqual({ localPart: 'noreply', domain: undefined, name: undefined });
    expect(accepted({ from: 'billing' }).from).toEqual({ localPart: 'billing', domain: undefined, name: undefined });
    expect(accepted({ from: { email: 'billing', name: 'Bills' } }).from).toMatchObject({
      localPart: 'billing',
      name: 'Bills',
    });
    expect(accepted({ from: 'Acme <a@BÜCHER.example>' }).from).toMatchObject({
      domain: 'xn--bcher-kva.example',
      name: 'Acme',
    });
  });

  it('counts the same address once, in its first role', () => {
    const { recipients } = accepted({
      to: ['Ada@Example.com'],
      cc: ['ada@example.com', 'b@example.com'],
      bcc: ['B@example.com'],
    });
    expect(recipients.map(({ email, kind }) => `${kind}:${email}`)).toEqual(['to:Ada@example.com', 'cc:b@example.com']);
  });

  it('counts a person once, however the sigmas of the address are written', () => {
    const { recipients } = accepted({
      to: ['ΝΙΚΟΣ@x.example', 'νικος@x.example', 'νικοσ@x.example', 'νικο@x.example'],
    });
    expect(recipients.map(({ email }) => email)).toEqual(['ΝΙΚΟΣ@x.example', 'νικο@x.example']);
  });

  it('takes every field', () => {
    const request = accepted({
      replyTo: ['r@example.com', { email: 's@example.com', name: 'S' }],
      html: '<p>Hi</p>',
      headers: { 'X-Campaign': 'spring', 'List-Unsubscribe': '<mailto:u@example.com>', References: '<1@x>' },
      attachments: [
        { filename: 'a.pdf', content: Buffer.from('hello').toString('base64'), contentType: 'application/pdf' },
      ],
      tags: ['a', 'b', 'a'],
      metadata: { order: { id: 7 } },
      scheduledAt: '2026-11-20T12:00:00+01:00',
      expiresAt: '2026-11-21',
      tracking: { opens: false },
      category: 'bulk',
      idempotencyKey: 'k-1',
    });
    expect(request.replyTo).toHaveLength(2);
    expect(request.attachments[0]?.content.toString()).toBe('hello');
    expect(request.tags).toEqual(['a', 'b']);
    expect(request.scheduledAt?.toISOString()).toBe('2026-11-20T11:00:00.000Z');
    expect(request).toMatchObject({ category: 'bulk', idempotencyKey: 'k-1', tracking: { opens: false } });
  });

  it.each([
    ['a.pdf', undefined, 'application/pdf'],
    ['a.PNG', undefined, 'image/png'],
    ['data', undefined, 'application/octet-stream'],
    ['a.unknownext', undefined, 'application/octet-stream'],
    ['a.eml', undefined, 'application/octet-stream'],
    ['a.pdf', 'text/plain', 'text/plain'],
  ])('types the attachment %s, declared as %s, %s', (filename, contentType, expected) => {
    const { attachments } = accepted({ attachments: [{ filename, content: '', ...(contentType && { contentType }) }] });
    expect(attachments[0]?.contentType).toBe(expected);
  });

  it.each(['2026-11-20T10:00:59Z', '2026-11-20T10:01:00Z', '2026-12-20T10:00:00Z'])(
    'takes a schedule from a minute ahead, less the way here: %s',
    (scheduledAt) => expect(accepted({ scheduledAt }).scheduledAt).toEqual(new Date(scheduledAt)),
  );

  it('names the field that was meant', () => {
    const parsed = parse({ reply_to: 'a@example.com' });
    expect(parsed).toMatchObject({
      error: { details: { validation: { reply_to: ['reply_to is not a known field; did you mean replyTo?'] } } },
    });
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['no recipient', { to: [] }, 'to'],
    ['no to', { to: undefined }, 'to'],
    ['a bare string as to', { to: 'ada@example.com' }, 'to'],
    ['a bad address', { to: ['ada@example.com', 'not an address'] }, 'to[1]'],
    ['a bad address object', { to: [{ email: 'x' }] }, 'to[0].email'],
    ['a list in one address', { to: ['a@example.com, b@example.com'] }, 'to[0]'],
    ['a null address', { to: [null] }, 'to[0]'],
    ['51 recipients', { to: Array.from({ length: 51 }, (_, i) => `a${i}@example.com`) }, 'to'],
    [
      '51 over all',
      {
        to: Array.from({ length: 30 }, (_, i) => `a${i}@example.com`),
        cc: Array.from({ length: 21 }, (_, i) => `b${i}@example.com`),
      },
      'to',
    ],
    ['no subject', { subject: undefined }, 'subject'],
    ['an empty subject', { subject: '' }, 'subject'],
    ['a line break in the subject', { subject: 'a\r\nBcc: x@example.com' }, 'subject'],
    ['a long subject', { subject: 'x'.repeat(999) }, 'subject'],
    ['a numeric subject', { subject: 7 }, 'subject'],
    ['no body', { text: undefined }, 'html'],
    ['an empty body', { text: '' }, 'html'],
    ['a long text', { text: 'x'.repeat(1024 * 1024 + 1) }, 'text'],
    ['an object as html', { html: {} }, 'html'],
    ['an own header', { headers: { Bcc: 'x@example.com' } }, 'headers.Bcc'],
    ['a content header', { headers: { 'Content-Type': 'x' } }, 'headers.Content-Type'],
    ['a header injection', { headers: { 'X-A': 'a\r\nBcc: b' } }, 'headers.X-A'],
    ['a header name with a colon', { headers: { 'X:A': 'a' } }, 'headers.X:A'],
    [
      'a URL that is not ASCII',
      { headers: { 'List-Unsubscribe': '<https://bücher.example/>' } },
      'headers.List-Unsubscribe',
    ],
    ['a header given twice', { headers: { 'X-A': 'a', 'x-a': 'b' } }, 'headers.x-a'],
    ['headers as a list', { headers: [] }, 'headers'],
    ['51 headers', { headers: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`X-${i}`, 'a'])) }, 'headers'],
    ['bad base64', { attachments: [{ filename: 'a.txt', content: '***' }] }, 'attachments[0].content'],
    ['an executable', { attachments: [{ filename: 'a.EXE', content: '' }] }, 'attachments[0].filename'],
    ['a path as file name', { attachments: [{ filename: '../a', content: '' }] }, 'attachments[0].filename'],
    [
      'a bad content type',
      { attachments: [{ filename: 'a', content: '', contentType: 'x\r\ny: z' }] },
      'attachments[0].contentType',
    ],
    [
      'an unknown attachment field',
      { attachments: [{ filename: 'a', content: '', path: '/etc/passwd' }] },
      'attachments[0].path',
    ],
    [
      '11 attachments',
      { attachments: Array.from({ length: 11 }, () => ({ filename: 'a', content: '' })) },
      'attachments',
    ],
    ['11 tags', { tags: Array.from({ length: 11 }, (_, i) => `t${i}`) }, 'tags'],
    ['an empty tag', { tags: [''] }, 'tags[0]'],
    ['metadata as a list', { metadata: [1] }, 'metadata'],
    ['deep metadata', { metadata: { a: { b: { c: { d: { e: { f: 1 } } } } } } }, 'metadata'],
    ['large metadata', { metadata: { a: 'x'.repeat(8192) } }, 'metadata'],
    ['null for an optional field', { category: null }, 'category'],
    ['a schedule within the minute', { scheduledAt: '2026-11-20T10:00:58.999Z' }, 'scheduledAt'],
    ['a schedule in the past', { scheduledAt: '2026-11-20T09:00:00Z' }, 'scheduledAt'],
    ['a schedule too far ahead', { scheduledAt: '2027-01-20T09:00:00Z' }, 'scheduledAt'],
    ['a schedule without offset', { scheduledAt: '2026-11-20T11:00:00' }, 'scheduledAt'],
    ['an expiry in the past', { expiresAt: '2026-11-20T09:00:00Z' }, 'expiresAt'],
    [
      'an expiry before the schedule',
      { scheduledAt: '2026-11-21T00:00:00Z', expiresAt: '2026-11-20T23:00:00Z' },
      'expiresAt',
    ],
    ['tracking of another kind', { tracking: { opens: 'yes' } }, 'tracking.opens'],
    ['unknown tracking', { tracking: { reads: true } }, 'tracking.reads'],
    ['an unknown category', { category: 'spam' }, 'category'],
    ['a non-ASCII key', { idempotencyKey: 'ä' }, 'idempotencyKey'],
    ['an unknown field', { recipients: [] }, 'recipients'],
    ['a __proto__ field', JSON.parse('{"__proto__": {"x": 1}}') as Record<string, unknown>, '__proto__'],
  ])('refuses %s', (_name, fields, path) => {
    expect(errorsOf(fields)).toContain(path);
  });

  it('says what to declare instead of a type that no attachment may have', () => {
    const parsed = parse({ attachments: [{ filename: 'a.eml', content: '', contentType: 'message/rfc822' }] });
    const advice = expect.stringContaining('use application/octet-stream');
    expect(parsed).toMatchObject({ error: { details: { validation: { 'attachments[0].contentType': [advice] } } } });
  });

  it('puts the item before field paths of a batch', () => {
    const parsed = parseSendRequest({ ...MINIMAL, subject: '' }, NOW, new FieldReader('3.'));
    expect(parsed).toMatchObject({
      ok: false,
      error: { details: { validation: { '3.subject': [expect.stringContaining('subject')] } } },
    });
  });

  it('refuses attachments over 25 MiB as too large', () => {
    const content = Buffer.alloc(26 * 1024 * 1024).toString('base64');
    expect(() => parse({ attachments: [{ filename: 'a.bin', content }] })).toThrow('25 MiB');
  });

  it('never throws on any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        parseSendRequest(value, NOW);
        parse({
          to: value,
          from: value,
          headers: value,
          attachments: value,
          metadata: value,
          tags: value,
          tracking: value,
        });
      }),
      { numRuns: 300 },
    );
  });
});
