import fc from 'fast-check';
import { hasBoundedHeader, MAX_HEADER_BYTES, namedAddresses } from './named-addresses';

async function namedIn(header: string): Promise<string[]> {
  const found: string[] = [];
  const message = Buffer.from(`${header}\r\n\r\nCc: body@x.example`);
  for await (const address of namedAddresses(message)) found.push(address);
  return found;
}

describe('namedAddresses', () => {
  it.each([
    ['To: Ada <Ada@X.example>, bob@x.example', ['ada@x.example', 'bob@x.example']],
    ['To: friends: ada@x.example;', ['ada@x.example']],
    ['Cc: "ada"@x.example', ['ada@x.example']],
    ["Cc: 'ada@x.example'", ["'ada@x.example", 'ada@x.example']],
    ['Cc: ada@x.example.', ['ada@x.example']],
    ['Cc: "bob@x.example" <ada@x.example>', ['bob@x.example', 'ada@x.example']],
    ['To: Zo\u00eb <zo\u00eb@b\u00fccher.example>', ['zo\u00eb@xn--bcher-kva.example']],
    ['To: =?utf-8?b?QWRhIDxhZGFAeC5leGFtcGxlPg==?=', ['ada@x.example']],
    ['Received: by mx.example id 1@mx for <ada@x.example>; Mon, 1 Jan', ['ada@x.example']],
    ['Delivered-To: ada@x.example\r\nResent-To: bob@x.example', ['ada@x.example', 'bob@x.example']],
    ['Subject: ada@x.example\r\n bob@x.example\r\nMessage-ID: <1@x.example>', []],
    ['To: nobody@, @x.example, a@b', []],
  ])('of %j are %j', async (header, found) => {
    expect(await namedIn(header)).toEqual(found);
  });

  it('are all of them, however they are spread over fields and lines', async () => {
    const name = fc.constantFrom('To', 'Cc', 'X-Other', 'Delivered-To');
    const list = fc.array(fc.nat(9_999), { minLength: 1, maxLength: 40 });
    const separator = fc.constantFrom(', ', ',\r\n ', ' , \r\n\t', ',');
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(name, list, separator), { minLength: 1, maxLength: 20 }), async (fields) => {
        const address = (n: number) => `someone.with.a.name-${n}@x${n}.example`;
        const header = fields.map(([field, numbers, by]) => `${field}: ${numbers.map(address).join(by)}`).join('\r\n');
        const named = fields.filter(([field]) => field !== 'X-Other').flatMap(([, numbers]) => numbers.map(address));
        expect(new Set(await namedIn(header))).toEqual(new Set(named));
      }),
      { numRuns: 50 },
    );
  });

  it.each([', ', ',', '\u00a0, \u00e9 '])('are ten thousand of one line, with %j between them', async (by) => {
    const all = Array.from({ length: 10_000 }, (_, n) => `recipient${n}@x${n}.example`);
    expect(await namedIn(`To: ${all.join(by)}`)).toEqual(all);
  });
});

describe('hasBoundedHeader', () => {
  it.each([
    ['a\r\n\r\n', true],
    [`a\r\n\r\n${'x'.repeat(MAX_HEADER_BYTES)}`, true],
    [`\r\n${'x'.repeat(MAX_HEADER_BYTES)}`, true],
    ['x'.repeat(MAX_HEADER_BYTES + 1), false],
    [`${'x\n'.repeat(MAX_HEADER_BYTES / 2)} \n`, false],
    [`${'x'.repeat(MAX_HEADER_BYTES - 1)}\n\n`, false],
  ])('%#', (message, isBounded) => {
    expect(hasBoundedHeader(Buffer.from(message))).toBe(isBounded);
  });
});
