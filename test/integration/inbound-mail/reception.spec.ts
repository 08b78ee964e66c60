import { ExpandEventsJob } from '../../../src/modules/webhooks/dispatch/expand-events.job';
import { WebhookDispatchModule } from '../../../src/modules/webhooks/webhooks.module';
import { InboundEmailsService } from '../../../src/modules/inbound-mail/emails/inbound-emails.service';
import { InboundSubjectsService } from '../../../src/modules/inbound-mail/emails/inbound-subjects.service';
import { InboundMailLimits } from '../../../src/modules/inbound-mail/emails/inbound-mail-limits';
import { DeleteOldInboundEmailsJob } from '../../../src/modules/inbound-mail/emails/delete-old-inbound-emails.job';
import { InboundLimits } from '../../../src/modules/inbound-smtp/inbound-limits';
import { InboundSmtpModule } from '../../../src/modules/inbound-smtp/inbound-smtp.module';
import { InboundSmtpServer } from '../../../src/modules/inbound-smtp/inbound-smtp.server';
import { BodyBudget } from '../../../src/common/http/request/request-body';
import { LAST_ID, NIL_ID } from '../../../src/common/ids';
import { DAY } from '../../../src/common/clock';
import { AppConfig } from '../../../src/config/config';
import { Database } from '../../../src/database/pool/database.service';
import { INBOUND_MESSAGE } from '../../factories/inbound-emails';
import { addDomain } from '../../factories/tenants';
import { waitFor } from '../../setup/wait-for';
import { DomainsApp, type Owner } from '../domains/domains-app';
import { RawSmtpClient } from '../inbound-smtp/raw-smtp-client';

interface Customer extends Owner {
  readonly domain: string;
  readonly domainId: string;
}

describe('mail to inbound routes', () => {
  let app: DomainsApp;
  let port: number;
  let acme: Customer;

  beforeAll(async () => {
    const env = { INBOUND_SMTP_PORT: '0', MAIL_HOST: 'mail.example.org' };
    app = await DomainsApp.start(env, [InboundSmtpModule, WebhookDispatchModule]);
    // Event ids are of the database's clock.
    app.clock.set(new Date());
    app.dns.set({ 'hooks.example.com': { A: ['93.184.215.14'] } });
    port = await app.get(InboundSmtpServer).listen();
  });
  beforeEach(async () => (acme = await customer()));
  afterAll(() => app.close());

  async function customer(): Promise<Customer> {
    const owner = await app.owner();
    const domain = `d${owner.organizationId.slice(-12)}.example`;
    return { ...owner, domain, domainId: await addDomain(app.db, owner.organizationId, { domain }) };
  }

  const dataOf = ({ status, body }: { status: number; body: any }, wanted = 200) => {
    expect({ status, error: body.error }).toEqual({ status: wanted, error: undefined });
    return body.data;
  };

  const route = async ({ api }: Owner, address: string, fields: object = {}) =>
    dataOf(await api.post('/v1/inbound-routes', { address, ...fields }), 201);

  const list = async ({ api }: Owner, query = '') => dataOf(await api.get(`/v1/inbound-emails${query}`));

  const usage = async () =>
    (await app.db.query('select emails::int, bytes::int from inbound_usage where organization_id = $1', [acme.organizationId]))[0]; // prettier-ignore

  /** Replies to each RCPT, and to the end of data when one was admitted. */
  async function deliver(
    to: readonly string[],
    message = INBOUND_MESSAGE,
    from = 'ada@sender.example',
    address = '127.0.0.1',
  ) {
    const client = await RawSmtpClient.greeted(port, address);
    await client.command(`MAIL FROM:<${from}>`);
    const admitted: string[] = [];
    for (const each of to) admitted.push(await client.command(`RCPT TO:<${each}>`));
    let taken: string | undefined;
    if (admitted.some((reply) => reply.startsWith('250'))) {
      await client.command('DATA');
      const stuffed = message.replace(/^\./gm, '..');
      taken = await client.send(`${stuffed}${stuffed.endsWith('\r\n') ? '' : '\r\n'}.\r\n`).reply();
    }
    client.close();
    return { admitted, taken };
  }

  it('is stored, and shown with its parts', async () => {
    const { id: routeId } = await route(acme, `support@in.${acme.domain}`);
    const { taken } = await deliver([`Support@IN.${acme.domain}`]);
    expect(taken).toMatch(/^250 /);
    const [item] = await list(acme);
    const email = dataOf(await acme.api.get(`/v1/inbound-emails/${item.id}`));
    expect(email).toEqual({
      ...item,
      text: 'Good morning',
      headers: expect.arrayContaining([{ name: 'Subject', value: 'Hello' }]),
      attachments: [{ index: 0, filename: 'bill.pdf', contentType: 'application/pdf', size: 5 }],
    });
    expect(item).toMatchObject({
      ...{ routeId, envelope: { from: 'ada@sender.example', to: [`support@in.${acme.domain}`] } },
      ...{ from: 'Ada <ada@sender.example>', to: ['support@in.example.com'], cc: [], subject: 'Hello' },
      ...{ messageId: '<1@sender.example>', references: [], marks: [] },
      authentication: { spf: { result: 'none' }, dkim: [], dmarc: { result: 'none' } },
      sizeBytes: INBOUND_MESSAGE.length,
    });
  });

  it('is taken by a wildcard where no exact route is', async () => {
    const all = await route(acme, `*@${acme.domain}`);
    const exact = await route(acme, `one@${acme.domain}`);
    for (const local of ['one', 'two']) await deliver([`${local}@${acme.domain}`]);
    const found = await list(acme);
    expect(found.map((each: any) => [each.envelope.to[0], each.routeId])).toEqual([
      [`two@${acme.domain}`, all.id],
      [`one@${acme.domain}`, exact.id],
    ]);
  });

  it('may have a hundred recipients, for ten routes (RFC 5321 section 4.5.3.1.8)', async () => {
    await route(acme, `*@${acme.domain}`);
    const many = Array.from({ length: 101 }, (_, n) => `r${n}@${acme.domain}`);
    const { admitted, taken } = await deliver(many);
    expect(admitted.map((reply) => reply.slice(0, 3))).toEqual([...Array<string>(100).fill('250'), '452']);
    expect(taken).toMatch(/^250 /);
    const [email] = await list(acme);
    expect(email.envelope.to).toHaveLength(100);
    const exact = Array.from({ length: 10 }, (_, n) => `exact${n}@${acme.domain}`);
    for (const address of exact) await route(acme, address);
    const replies = await deliver([...exact, `r1@${acme.domain}`, exact[0]!]);
    expect(replies.admitted.slice(9)).toEqual([
      expect.stringMatching(/^250/),
      expect.stringMatching(/^452 4\.5\.3 /),
      expect.stringMatching(/^250/),
    ]);
  });

  it('is stored for each organization, without the recipients of the others', async () => {
    const other = await customer();
    await route(acme, `a@${acme.domain}`);
    await route(other, `*@${other.domain}`);
    const { taken } = await deliver([`a@${acme.domain}`, `b@${other.domain}`, `c@${other.domain}`]);
    expect(taken).toMatch(/^250 /);
    const [[ours], [theirs]] = [await list(acme), await list(other)];
    expect(ours.envelope.to).toEqual([`a@${acme.domain}`]);
    expect(theirs.envelope.to).toEqual([`b@${other.domain}`, `c@${other.domain}`]);
    expect((await other.api.get(`/v1/inbound-emails/${ours.id}`)).status).toBe(404);
    expect((await other.api.get(`/v1/inbound-emails/${ours.id}/raw`)).status).toBe(404);
  });

  it('is refused without a route, and where no mail is accepted', async () => {
    await route(acme, `a@${acme.domain}`);
    const { admitted, taken } = await deliver([`b@${acme.domain}`, 'a@elsewhere.example']);
    expect(admitted).toEqual([expect.stringMatching(/^550 5\.1\.1 /), expect.stringMatching(/^550 5\.7\.1 /)]);
    expect(taken).toBeUndefined();
  });

  it('comes to a name in quotes as without them, and is not called relaying for a name that no route can have', async () => {
    await route(acme, `*@${acme.domain}`);
    const long = `${'a'.repeat(65)}@${acme.domain}`;
    const unfit = [long, '"a"@elsewhere.example', `${'a'.repeat(65)}@elsewhere.example`];
    const { admitted, taken } = await deliver([`"Ada.L"@${acme.domain}`, ...unfit]);
    expect(admitted.map((reply) => reply.slice(0, 9))).toEqual(['250 Accep', ...['5.1.1', '5.7.1', '5.7.1'].map((code) => `550 ${code}`)]); // prettier-ignore
    expect(taken).toMatch(/^250 /);
    expect((await list(acme))[0].envelope.to).toEqual([`ada.l@${acme.domain}`]);
  });

  it('is refused once its route is deleted, or its domain is verified no more', async () => {
    const { id } = await route(acme, `a@${acme.domain}`);
    await route(acme, `b@${acme.domain}`);
    dataOf(await acme.api.delete(`/v1/inbound-routes/${id}`));
    expect((await deliver([`a@${acme.domain}`])).admitted[0]).toMatch(/^550 5\.1\.1 /);
    await app.db.query(`update domains set verification_status = 'failed' where id = $1`, [acme.domainId]);
    expect((await deliver([`b@${acme.domain}`])).admitted[0]).toMatch(/^550 /);
  });

  it('is stored with the beginning of long fields, which is text as well', async () => {
    await route(acme, `a@${acme.domain}`);
    for (const start of ['x', 'xx']) {
      const long = `${start}${'😀'.repeat(600)}`;
      const message = `From: ${long} <ada@sender.example>\r\nTo: ${long}\r\nSubject: ${long}\r\n\r\nhi\r\n`;
      expect((await deliver([`a@${acme.domain}`], message)).taken).toMatch(/^250 /);
    }
    const subjects = (await list(acme)).map(({ subject }: { subject: string }) => subject);
    expect(subjects).toEqual([`xx${'😀'.repeat(498)}`, `x${'😀'.repeat(498)}`]);
  });

  it('that comes twice is stored once; to another recipient of the route it is new', async () => {
    await route(acme, `*@${acme.domain}`);
    for (const local of ['a', 'a', 'b']) expect((await deliver([`${local}@${acme.domain}`])).taken).toMatch(/^250 /);
    expect(await list(acme)).toHaveLength(2);
  });

  it('is filtered by sender and recipient', async () => {
    await route(acme, `*@${acme.domain}`);
    await deliver([`a@${acme.domain}`]);
    await deliver([`b@${acme.domain}`], INBOUND_MESSAGE, 'bounce@other.example');
    expect(await list(acme, `?to=A@${acme.domain}`)).toHaveLength(1);
    expect(await list(acme, '?from=bounce@other.example')).toHaveLength(1);
    expect(await list(acme, '?from=Ada@sender.example')).toHaveLength(2);
    expect(await list(acme, '?from=nobody@sender.example')).toEqual([]);
  });

  it('of several parts comes back as it came', async () => {
    await route(acme, `a@${acme.domain}`);
    const message = `Subject: large\r\n\r\n${`${'x'.repeat(998)}\r\n`.repeat(2_500)}`;
    expect((await deliver([`a@${acme.domain}`], message)).taken).toMatch(/^250 /);
    const [{ id }] = await list(acme);
    const tenant = { organizationId: acme.organizationId, mode: 'live' } as const;
    expect((await app.get(InboundEmailsService).raw(tenant, id, () => undefined)).toString('latin1')).toBe(message);
    const parts = await app.db.query('select octet_length(content) as size from inbound_email_parts where email_id = $1 order by position', [id]); // prettier-ignore
    expect(parts.map((part: any) => part.size)).toEqual([1_048_576, 1_048_576, message.length - 2 * 1_048_576]);
  });

  it('is in memory until its reader has it, and put off when there is no room', async () => {
    await route(acme, `a@${acme.domain}`);
    await deliver(
      [`a@${acme.domain}`],
      INBOUND_MESSAGE.replace('JVBERi0=', 'JVBERi0x'.repeat(50_000).replace(/(.{64})/g, '$1\r\n')),
    );
    const [{ id, sizeBytes }] = await list(acme);
    const budget = app.get(BodyBudget);
    const [take, give] = [jest.spyOn(budget, 'take'), jest.spyOn(budget, 'give')];
    const bytesOf = ({ mock }: typeof take | typeof give) => mock.calls.reduce((sum, [, bytes]) => sum + bytes, 0);
    for (const path of ['', '/raw', '/attachments/0']) {
      expect((await acme.api.get(`/v1/inbound-emails/${id}${path}`)).status).toBe(200);
      // What is made of it counts as well.
      expect(bytesOf(take)).toBeGreaterThanOrEqual(sizeBytes);
      await waitFor(() => bytesOf(give) === bytesOf(take), { what: 'the memory' });
      take.mockReturnValueOnce(false);
      const refused = await acme.api.get(`/v1/inbound-emails/${id}${path}`);
      expect([refused.status, refused.body.error.code]).toEqual([503, 'service_unavailable']);
      for (const spy of [take, give]) spy.mockClear();
    }
    for (const spy of [take, give]) spy.mockRestore();
  });

  it('over 25 MiB is refused with 552, whether its client announces the size or not', async () => {
    await route(acme, `a@${acme.domain}`);
    const client = await RawSmtpClient.greeted(port);
    expect(await client.command(`MAIL FROM:<> SIZE=${25 * 1024 * 1024 + 1}`)).toMatch(/^552 /);
    client.close();
    const limits = app.get(InboundMailLimits) as { maxMessageBytes: number };
    limits.maxMessageBytes = 64 * 1024;
    const { taken } = await deliver([`a@${acme.domain}`], `Subject: x\r\n\r\n${'x\r\n'.repeat(30_000)}`);
    limits.maxMessageBytes = 25 * 1024 * 1024;
    expect(taken).toMatch(/^552 5\.3\.4 /);
    expect(await list(acme)).toEqual([]);
  });

  it('with a header over 1 MiB is refused with 552', async () => {
    await route(acme, `a@${acme.domain}`);
    const header = `To: ${'x@y.example,\r\n '.repeat(75_000)}z@y.example\r\n`;
    const { taken } = await deliver([`a@${acme.domain}`], `${header}\r\nx`);
    expect(taken).toMatch(/^552 5\.3\.4 /);
    expect(await list(acme)).toEqual([]);
  });

  it('is put off beyond what a route may have in an hour, and what is known is taken', async () => {
    const limits = app.get(InboundMailLimits) as { capacity: object };
    const before = limits.capacity;
    limits.capacity = { ...before, perRouteAndHour: 2 };
    await route(acme, `*@${acme.domain}`);
    const replies: (string | undefined)[] = [];
    for (const local of ['a', 'b', 'c', 'a']) replies.push((await deliver([`${local}@${acme.domain}`])).taken);
    limits.capacity = before;
    expect(replies.map((reply) => reply?.slice(0, 3))).toEqual(['250', '250', '452', '250']);
    expect(await list(acme)).toHaveLength(2);
  });

  it.each([
    ['messages', { messages: 2, bytes: 1e9 }],
    ['bytes', { messages: 1e9, bytes: 2 * INBOUND_MESSAGE.length }],
  ])('is put off beyond its network’s share of an organization: %s', async (_, share) => {
    const limits = app.get(InboundLimits) as { maxRoutedToOrganization: object };
    const before = limits.maxRoutedToOrganization;
    limits.maxRoutedToOrganization = share;
    const other = await customer();
    for (const owner of [acme, other]) await route(owner, `*@${owner.domain}`);
    for (const local of ['a', 'b']) expect((await deliver([`${local}@${acme.domain}`])).taken).toMatch(/^250 /);
    const { admitted, taken } = await deliver([`c@${acme.domain}`, `c@${other.domain}`]);
    limits.maxRoutedToOrganization = before;
    expect(admitted).toEqual([expect.stringMatching(/^450 4\.7\.1 /), expect.stringMatching(/^250 /)]);
    expect(taken).toMatch(/^250 /);
    expect([await list(acme), await list(other)]).toMatchObject([{ length: 2 }, { length: 1 }]);
  });

  it('is put off where one network leaves nothing to others, and taken of one more', async () => {
    const limits = app.get(InboundLimits) as { routedInAll: object };
    const before = limits.routedInAll;
    const inAll = { messages: 4, bytes: 1e9 };
    limits.routedInAll = { organization: inAll, route: inAll };
    await route(acme, `*@${acme.domain}`);
    const taken: boolean[] = [];
    for (const [local, from] of [
      ['a', '2.1'],
      ['b', '2.1'],
      ['c', '3.1'],
      ['d', '3.1'],
      ['e', '4.1'],
    ] as const) {
      const { admitted } = await deliver([`${local}@${acme.domain}`], undefined, undefined, `127.0.${from}`);
      taken.push(admitted[0]?.startsWith('250') ?? false);
    }
    limits.routedInAll = before;
    expect(taken).toEqual([true, true, true, false, true]);
  });

  it('is put off where the networks of one owner leave nothing to others, and taken of another owner', async () => {
    const limits = app.get(InboundLimits) as { routedInAll: object };
    const before = limits.routedInAll;
    const inAll = { messages: 5, bytes: 1e9 };
    limits.routedInAll = { organization: inAll, route: inAll };
    await route(acme, `*@${acme.domain}`);
    const taken: boolean[] = [];
    for (const from of ['2.1', '2.2', '2.3', '2.4', '2.5', '3.1']) {
      const { admitted } = await deliver([`a@${acme.domain}`], `Subject: ${from}\r\n\r\nx`, undefined, `127.0.${from}`);
      taken.push(admitted[0]?.startsWith('250') ?? false);
    }
    limits.routedInAll = before;
    expect(taken).toEqual([true, true, true, true, false, true]);
  });

  it('is put off once the organization keeps all it may, until some is deleted', async () => {
    await route(acme, `*@${acme.domain}`);
    const limits = app.get(AppConfig).limits as { inboundStoredBytes: number };
    const before = limits.inboundStoredBytes;
    limits.inboundStoredBytes = 2 * (INBOUND_MESSAGE.length + 4_096);
    const send = async (local: string) => (await deliver([`${local}@${acme.domain}`])).taken;
    for (const local of ['a', 'b']) expect(await send(local)).toMatch(/^250 /);
    expect(await send('c')).toMatch(/^452 4\.2\.2 Too much mail is stored for this address/);
    expect(await send('a')).toMatch(/^250 /);
    const [{ id }] = await list(acme);
    expect(dataOf(await acme.api.delete(`/v1/inbound-emails/${id}`))).toEqual({ id, deleted: true });
    expect((await acme.api.delete(`/v1/inbound-emails/${id}`)).status).toBe(404);
    expect(await send('c')).toMatch(/^250 /);
    limits.inboundStoredBytes = before;
    expect(await list(acme)).toHaveLength(2);
    expect(await usage()).toEqual({ emails: 2, bytes: 2 * (INBOUND_MESSAGE.length + 4_096) });
    expect((await app.audit(acme.organizationId)).map(({ action }) => action)).toContain('inbound_email.deleted');
  });

  it('is marked when a machine wrote it, and never gets a reply', async () => {
    await route(acme, `a@${acme.domain}`);
    await deliver([`a@${acme.domain}`], 'Auto-Submitted: auto-replied\r\nList-Id: <x.example>\r\n\r\nx', '');
    expect((await list(acme))[0].marks).toEqual(['auto_submitted', 'list']);
    expect(await app.db.query('select 1 from emails where organization_id = $1', [acme.organizationId])).toEqual([]);
  });

  it('is kept apart by tenant: a test key sees none, nor does one that is bound to another domain', async () => {
    await route(acme, `a@${acme.domain}`);
    await deliver([`a@${acme.domain}`]);
    const otherDomainId = await addDomain(app.db, acme.organizationId);
    const bound = await acme.client(['inbound:read'], otherDomainId);
    expect(dataOf(await bound.get('/v1/inbound-emails'))).toEqual([]);
    const own = await acme.client(['inbound:read'], acme.domainId);
    expect(dataOf(await own.get('/v1/inbound-emails'))).toHaveLength(1);
  });

  it('is an event of the feed, and of the webhooks that are subscribed', async () => {
    const add = (events: string[]) =>
      acme.api.post('/v1/webhooks', { url: 'https://hooks.example.com/mail', events }).then((one) => dataOf(one, 201));
    const [all, inbound, sent] = [await add(['*']), await add(['inbound.received']), await add(['sent'])];
    const { id: routeId } = await route(acme, `a@${acme.domain}`);
    const named = await route(acme, `b@${acme.domain}`, { webhookId: sent.id.toUpperCase() });
    await deliver([`a@${acme.domain}`, `b@${acme.domain}`]);
    const events = dataOf(await acme.api.get('/v1/events'));
    expect(events.map((event: any) => [event.type, event.data.routeId])).toEqual(
      expect.arrayContaining([
        ['inbound.received', routeId],
        ['inbound.received', named.id],
      ]),
    );
    const mailOnly = await acme.client(['email:read']);
    expect(dataOf(await mailOnly.get('/v1/events'))).toEqual([]);
    const [{ data }] = events;
    expect(data).toMatchObject({ eventType: 'inbound.received', inboundEmailId: data.eventId, subject: 'Hello' });
    expect(data).not.toHaveProperty('emailId');
    await app.get(ExpandEventsJob).expand();
    const told = await app.db.query(
      `select m.endpoint_id as webhook, e.route_id as route
       from webhook_messages m join inbound_emails e on e.organization_id = m.organization_id and e.id = m.email_id
       where m.organization_id = $1`,
      [acme.organizationId],
    );
    expect(told).toHaveLength(3);
    expect(told).toEqual(
      expect.arrayContaining([
        { webhook: all.id, route: routeId },
        { webhook: inbound.id, route: routeId },
        { webhook: sent.id, route: named.id },
      ]),
    );
  });

  it('goes when its time is over, and with a person who is erased', async () => {
    await route(acme, `*@${acme.domain}`);
    await deliver([`a@${acme.domain}`]);
    await deliver([`b@${acme.domain}`], 'From: Bob <bob@other.example>\r\n\r\nx', 'bob@other.example');
    const tenant = { organizationId: acme.organizationId, mode: 'live' } as const;
    const subjects = app.get(InboundSubjectsService);
    const { ids, next } = await subjects.find(tenant, 'ADA@sender.example', {
      after: NIL_ID,
      before: LAST_ID,
      limit: 5,
    });
    expect(next).toBeUndefined();
    expect(await app.get(Database).transaction((tx) => subjects.erase(tenant, ids, tx))).toBe(1);
    expect((await list(acme)).map((email: any) => email.from)).toEqual(['Bob <bob@other.example>']);
    const now = app.clock.now();
    app.clock.set(new Date(now.getTime() + 31 * DAY));
    await app.get(DeleteOldInboundEmailsJob).deleteOld();
    app.clock.set(now);
    expect(await list(acme)).toEqual([]);
    const left = await app.db.query('select 1 from inbound_email_parts where organization_id = $1', [acme.organizationId]); // prettier-ignore
    expect(left).toEqual([]);
    expect(await usage()).toEqual({ emails: 0, bytes: 0 });
  });
});
