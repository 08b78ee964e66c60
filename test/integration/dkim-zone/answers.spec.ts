import { Resolver } from 'node:dns/promises';
import { HOUR, SECOND } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import { decode, DkimZoneApp, edns, NAME_SERVERS, queryFor, RECORD, type Reply, textOf, ZONE } from './dkim-zone-app';

let app: DkimZoneApp;
let domainId: string;
beforeAll(async () => {
  app = await DkimZoneApp.start();
  domainId = await app.publish();
});
afterAll(() => app.close());

const key = (selector = 'wb1'): string => `${selector}.${domainId}.${ZONE}`;

function expectNegative(reply: Reply, rcode: string): void {
  expect(reply).toMatchObject({ rcode, flag_aa: true, answers: [] });
  expect(reply.authorities).toMatchObject([{ type: 'SOA', name: ZONE, ttl: 60, data: { minimum: 60 } }]);
}

describe('a published key', () => {
  it('is one TXT record in strings of at most 255 bytes', async () => {
    const reply = await app.ask(key());
    expect(reply).toMatchObject({ id: 0x1234, rcode: 'NOERROR', flag_qr: true, flag_aa: true, flag_ra: false });
    expect(reply.answers).toMatchObject([{ type: 'TXT', class: 'IN', name: key(), ttl: 300 }]);
    expect(reply.answers[0].data.map((part: Buffer) => part.length)).toEqual([255, RECORD.length - 255]);
    expect(textOf(reply)).toBe(RECORD);
    expect(reply.authorities).toEqual([]);
  });

  it('of 2048 bits fits into 512 bytes', async () => {
    expect((await app.send(queryFor(key()))).length).toBeLessThanOrEqual(512);
  });

  it('is found by a resolver', async () => {
    const resolver = new Resolver();
    resolver.setServers([`127.0.0.1:${app.port}`]);
    expect((await resolver.resolveTxt(key())).map((parts) => parts.join(''))).toEqual([RECORD]);
    expect(await resolver.resolveNs(ZONE)).toEqual(NAME_SERVERS);
    expect(await resolver.resolveSoa(ZONE)).toMatchObject({ nsname: NAME_SERVERS[0], minttl: 60 });
    await expect(resolver.resolveTxt(key('wb9'))).rejects.toMatchObject({ code: 'ENOTFOUND' });
    await expect(resolver.resolve4(key())).rejects.toMatchObject({ code: 'ENODATA' });
    await expect(resolver.resolveTxt('example.com')).rejects.toMatchObject({ code: 'EREFUSED' });
  });

  it('is found in any case, which the reply repeats', async () => {
    const name = key().replace(/[a-z]/g, (letter, at: number) => (at % 2 ? letter.toUpperCase() : letter));
    const reply = await app.ask(name);
    expect(textOf(reply)).toBe(RECORD);
    expect([reply.questions?.[0]?.name, reply.answers[0].name]).toEqual([name, name]);
    const absent = await app.ask(`wb9.${newId().toUpperCase()}.DKIM.Example.ORG`);
    expect(absent.authorities[0].name).toBe('DKIM.Example.ORG');
  });

  it('is seen before it signs and while it retires, until it expires', async () => {
    const now = app.clock.now().getTime();
    const rotated = await app.publish({ selector: 'wb2', state: 'pending' });
    await app.publish({ domainId: rotated, state: 'retiring', expiresAt: new Date(now + 48 * HOUR) });
    const ask = (selector: string) => app.ask(`${selector}.${rotated}.${ZONE}`);
    expect(textOf(await ask('wb1'))).toBe(RECORD);
    expect(textOf(await ask('wb2'))).toBe(RECORD);
    app.clock.advance(47 * HOUR);
    expect(textOf(await ask('wb1'))).toBe(RECORD);
    app.clock.advance(2 * HOUR);
    expectNegative(await ask('wb1'), 'NXDOMAIN');
    expect(textOf(await ask('wb2'))).toBe(RECORD);
  });

  it('is seen, and its removal too, within seconds', async () => {
    const later = newId();
    const name = `wb1.${later}.${ZONE}`;
    expectNegative(await app.ask(name), 'NXDOMAIN');
    await app.publish({ domainId: later });
    app.clock.advance(5 * SECOND);
    expect(textOf(await app.ask(name))).toBe(RECORD);
    await app.query('delete from dkim_keys where domain_id = $1', [later]);
    app.clock.advance(5 * SECOND);
    expectNegative(await app.ask(name), 'NXDOMAIN');
  });
});

describe('the apex', () => {
  it('has SOA and NS', async () => {
    expect((await app.ask({ type: 'NS' })).answers.map(({ data }) => data as string)).toEqual(NAME_SERVERS);
    const { answers } = await app.ask({ type: 'SOA' });
    expect(answers).toMatchObject([
      { name: ZONE, data: { mname: NAME_SERVERS[0], rname: 'hostmaster.ns1.example.org' } },
    ]);
  });

  it('has no other type', async () => {
    expectNegative(await app.ask({ type: 'TXT' }), 'NOERROR');
    expectNegative(await app.ask({ type: 'A' }), 'NOERROR');
  });
});

describe('negative answers', () => {
  it('are NODATA for other types, and for the names between', async () => {
    for (const type of ['A', 'AAAA', 'CNAME', 'MX', 'NS', 'SOA', 'DS'] as const) {
      expectNegative(await app.ask({ name: key(), type }), 'NOERROR');
    }
    expectNegative(await app.ask(`${domainId}.${ZONE}`), 'NOERROR');
  });

  it.each([
    ['an unknown selector', () => key('wb3')],
    ['an unknown domain', () => `wb1.${newId()}.${ZONE}`],
    ['an unknown domain without selector', () => `${newId()}.${ZONE}`],
    ['what is no id', () => `wb1.example.${ZONE}`],
    ['what is no id, without selector', () => `www.${ZONE}`],
    ['more labels', () => `a.${key()}`],
    ['an id between other labels', () => `${domainId}.wb1.${ZONE}`],
  ])('are NXDOMAIN for %s', async (_what, name) => {
    expectNegative(await app.ask(name()), 'NXDOMAIN');
  });

  it('do not take bytes outside ASCII, or a dot within a label, for a name', async () => {
    const query = queryFor(key());
    query.writeUInt8(0xff, 13);
    expect(decode(await app.send(query)).rcode).toBe('NXDOMAIN');
    // The dot between selector and domain id becomes a part of the label.
    const joined = queryFor(key());
    joined.writeUInt8(3 + 1 + 36, 12);
    joined.write('.', 16);
    const reply = await app.send(joined);
    expect(decode(reply).rcode).toBe('NXDOMAIN');
    expect(reply.subarray(12, joined.length)).toEqual(joined.subarray(12));
  });
});

describe('refusals', () => {
  it.each([
    ['names outside the zone', { name: 'example.com' }],
    ['the parent', { name: 'example.org' }],
    ['a name that only ends like it', { name: `x${ZONE}` }],
    ['the root', { name: '.', type: 'NS' }],
    ['other classes', { name: 'version.bind', class: 'CH' }],
    ['other classes within the zone', { class: 'CH' }],
    ['any class', { class: 'ANY' }],
    ['transfers', { type: 'AXFR' }],
    ['incremental transfers', { type: 'IXFR' }],
  ] as const)('meet %s', async (_what, question) => {
    const reply = await app.ask(question);
    expect(reply).toMatchObject({ rcode: 'REFUSED', flag_aa: false, answers: [], authorities: [] });
  });

  it('meet ANY with a token instead of all records', async () => {
    const reply = await app.ask({ name: key(), type: 'ANY' as never });
    expect(reply.answers).toMatchObject([{ type: 'HINFO', data: { cpu: 'RFC8482' } }]);
    expect((await app.ask({ type: 'ANY' as never })).answers).toMatchObject([{ type: 'HINFO' }]);
    expectNegative(await app.ask({ name: key('wb9'), type: 'ANY' as never }), 'NXDOMAIN');
  });

  it('are NOTIMP for other opcodes', async () => {
    for (const opcode of [1, 2, 4, 5, 15]) {
      const query = queryFor(key());
      query.writeUInt16BE(opcode << 11, 2);
      expect(decode(await app.send(query))).toMatchObject({ id: 0x1234, rcode: 'NOTIMP', questions: [] });
    }
  });

  it('repeat that recursion is wanted, and never offer it', async () => {
    expect(await app.ask(key(), { flags: 0x0100 })).toMatchObject({ flag_rd: true, flag_ra: false });
    expect(await app.ask(key())).toMatchObject({ flag_rd: false, flag_ra: false });
  });
});

describe('EDNS', () => {
  it('gets our own size in the response, and the DO bit of the query', async () => {
    const plain = await app.ask(key());
    expect(plain.additionals).toEqual([]);
    const { additionals } = await app.ask(key(), edns(4096));
    expect(additionals).toMatchObject([{ type: 'OPT', udpPayloadSize: 1232, ednsVersion: 0, flag_do: false }]);
    expect((await app.ask(key(), edns(4096, { flags: 0x8000 }))).additionals).toMatchObject([{ flag_do: true }]);
  });

  it('of another version is BADVERS', async () => {
    const { additionals, rcode, answers } = await app.ask(key(), edns(1232, { ednsVersion: 1 }));
    expect(additionals).toMatchObject([{ extendedRcode: 1, ednsVersion: 0 }]);
    expect({ rcode, answers }).toEqual({ rcode: 'NOERROR', answers: [] });
  });

  it('may carry unknown options', async () => {
    const options = [
      { code: 10, data: Buffer.alloc(8) },
      { code: 12, data: Buffer.alloc(100) },
    ];
    expect(textOf(await app.ask(key(), edns(1232, { options })))).toBe(RECORD);
  });

  it('twice is FORMERR', async () => {
    const twice = [...(edns(1232).additionals ?? []), ...(edns(1232).additionals ?? [])];
    expect((await app.ask(key(), { additionals: twice })).rcode).toBe('FORMERR');
  });
});
