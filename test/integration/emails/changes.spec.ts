import { randomUUID } from 'node:crypto';
import { HOUR } from '../../../src/common/clock';
import { DomainsService } from '../../../src/modules/domains/domains.service';
import { DomainsApp, type Owner } from '../domains/domains-app';

let app: DomainsApp;
let acme: Owner;
let domain: string;
beforeAll(async () => {
  app = await DomainsApp.start();
  // Ids of events are of the database's clock.
  app.clock.set(new Date());
});
afterAll(() => app.close());
beforeEach(async () => {
  acme = await app.owner();
  const domains = app.get(DomainsService);
  domain = `${randomUUID()}.example`;
  const { id } = await domains.add(acme.organizationId, domain);
  await domains.markVerified(acme.organizationId, id);
});

const inHours = (hours: number) => new Date(app.clock.now().getTime() + hours * HOUR).toISOString();
const MAIL = { to: ['Ada <ada@example.com>'], bcc: ['eve@example.com'], subject: 'Hello', html: '<p>Hello</p>' };
const deliveries = (id: string) =>
  app.db.query<{ state: string; due_at: Date; first_due_at: Date; expires_at: Date }>(
    'select state, due_at, first_due_at, expires_at from deliveries where organization_id = $1 and email_id = $2 order by position',
    [acme.organizationId, id],
  );
const claim = (id: string) =>
  app.db.query(
    `update deliveries set state = 'claimed' where organization_id = $1 and email_id = $2 and position = 1`,
    [acme.organizationId, id],
  );

describe('PATCH /v1/emails/{id}', () => {
  const move = (id: string, scheduledAt: unknown) => acme.api.call('PATCH', `/v1/emails/${id}`, { scheduledAt });

  it.each([
    ['scheduled', { scheduledAt: '2 hours' }],
    ['queued', {}],
  ])('moves an email that is %s', async (_status, fields) => {
    const given = 'scheduledAt' in fields ? { scheduledAt: inHours(2) } : {};
    const id = await acme.api.send({ ...MAIL, ...given });
    // As when a worker has held it and given it back.
    await app.db.query(`update email_recipients set status = 'sending' where email_id = $1 and position = 1`, [id]);
    const scheduledAt = inHours(5);
    expect((await move(id, scheduledAt)).body.data).toEqual({ id, status: 'scheduled', scheduledAt });
    const email = await acme.api.email(id);
    expect(email).toMatchObject({ status: 'scheduled', scheduledFor: scheduledAt });
    expect(email.recipients.map(({ status }: { status: string }) => status)).toEqual(['scheduled', 'scheduled']);
    expect(email.events.at(-1)).toMatchObject({ eventType: 'scheduled', source: 'api', eventData: { scheduledAt } });
    for (const row of await deliveries(id)) {
      expect(row).toMatchObject({
        state: 'waiting',
        due_at: new Date(scheduledAt),
        first_due_at: new Date(scheduledAt),
      });
    }
  });

  it('moves all recipients or none: not once a worker has one of them', async () => {
    const id = await acme.api.send({ ...MAIL, scheduledAt: inHours(2) });
    const before = (await acme.api.email(id)).scheduledFor;
    await claim(id);
    expect((await move(id, inHours(5))).body.error.code).toBe('email_not_reschedulable');
    expect((await acme.api.email(id)).scheduledFor).toBe(before);
    expect((await deliveries(id))[0]?.due_at).toEqual(new Date(before));
  });

  it('moves and cancels what is left when an operator has ended a recipient before', async () => {
    const id = await acme.api.send({ ...MAIL, scheduledAt: inHours(2) });
    for (const change of ['delete from deliveries', "update email_recipients set status = 'failed'"]) {
      await app.db.query(`${change} where organization_id = $1 and email_id = $2 and position = 1`, [
        ...[acme.organizationId, id],
      ]);
    }
    expect((await move(id, inHours(5))).status).toBe(200);
    expect((await acme.api.post(`/v1/emails/${id}/cancel`)).status).toBe(200);
    expect(await deliveries(id)).toEqual([]);
  });

  it('moves the end of its life with it, unless the request has set one', async () => {
    const expiresAt = inHours(30);
    const [id, fixed] = [
      await acme.api.send({ ...MAIL, scheduledAt: inHours(2) }),
      await acme.api.send({ ...MAIL, scheduledAt: inHours(2), expiresAt }),
    ];
    // As MESSAGE_LIFE_TRANSACTIONAL_HOURS=4 would.
    await app.db.query(`update deliveries set expires_at = first_due_at + interval '4 hours' where email_id = $1`, [
      id,
    ]);
    const scheduledAt = inHours(20);
    for (const one of [id, fixed]) expect((await move(one, scheduledAt)).status).toBe(200);
    const ends = async (one: string) => (await deliveries(one)).map(({ expires_at }) => expires_at.getTime());
    expect(await ends(id)).toEqual([1, 2].map(() => Date.parse(scheduledAt) + 4 * HOUR));
    expect(await ends(fixed)).toEqual([1, 2].map(() => Date.parse(expiresAt)));
  });

  it('adds no more than a thousand events to an email', async () => {
    const id = await acme.api.send({ ...MAIL, scheduledAt: inHours(2) });
    const { scheduledFor } = await acme.api.email(id);
    const setSequence = (sequence: number) =>
      app.db.query('update emails set event_sequence = $2 where id = $1', [id, sequence]);
    await setSequence(1_000);
    const { status, body } = await move(id, inHours(5));
    expect([status, body.error]).toMatchObject([
      409,
      { code: 'email_not_reschedulable', details: { status: 'scheduled', limit: 1_000 } },
    ]);
    expect(await acme.api.email(id)).toMatchObject({ scheduledFor, events: [{ eventType: 'scheduled' }] });
    await setSequence(999);
    expect((await move(id, inHours(5))).status).toBe(200);
  });

  it('refuses a time that no send could have, one after expiresAt, and an email that has ended', async () => {
    const id = await acme.api.send({ ...MAIL, scheduledAt: inHours(2), expiresAt: inHours(4) });
    for (const time of [inHours(0), inHours(31 * 24), inHours(4), 'tomorrow', undefined]) {
      const { status, body } = await move(id, time);
      expect({ status, paths: Object.keys(body.error.details.validation) }).toEqual({
        status: 400,
        paths: ['scheduledAt'],
      });
    }
    await acme.api.post(`/v1/emails/${id}/cancel`);
    expect((await move(id, inHours(3))).body.error).toMatchObject({
      code: 'email_not_reschedulable',
      details: { status: 'failed' },
    });
  });
});

describe('POST /v1/emails/{id}/resend', () => {
  const resend = (id: string, headers = {}) => acme.api.post(`/v1/emails/${id}/resend`, undefined, headers);

  it('sends the same once more, linked both ways', async () => {
    const attachment = { filename: 'a.txt', content: 'QUJD', contentType: 'text/plain' };
    const fields = { headers: { 'X-Order': '1' }, tags: ['order'], metadata: { order: 1 }, replyTo: 'r@example.com' };
    const id = await acme.api.send({ ...MAIL, ...fields, attachments: [attachment], tracking: { opens: true } });
    const first = (await resend(id)).body.data.id;
    const second = (await resend(id)).body.data.id;
    const [original, repeated] = await Promise.all([acme.api.email(id), acme.api.email(second)]);
    expect(original.resentAs).toEqual([second, first]);
    expect(repeated.resentFrom).toBe(id);
    const shown = ({
      fromEmail,
      toEmails,
      bccEmails,
      subject,
      tags,
      metadata,
      replyTo,
      status,
    }: Record<string, unknown>) => ({ fromEmail, toEmails, bccEmails, subject, tags, metadata, replyTo, status });
    expect(shown(repeated)).toEqual(shown(original));
    const contents = await Promise.all(
      [id, second].map(async (each) => (await acme.api.get(`/v1/emails/${each}/content`)).body),
    );
    expect(contents[1]).toEqual(contents[0]);
    const [names] = await app.db.query<{ to: unknown; track: boolean; bytes: string }>(
      `select c.addressees -> 'to' as to, e.track_opens as track, convert_from(a.content, 'UTF8') as bytes
       from emails e join email_contents c on c.email_id = e.id join email_attachments a on a.email_id = e.id where e.id = $1`,
      [second],
    );
    expect(names).toEqual({ to: [{ email: 'ada@example.com', name: 'Ada' }], track: true, bytes: 'ABC' });
  });

  it('sends a raw message as it came', async () => {
    const raw = Buffer.from(
      `From: hello@${domain}\r\nTo: ada@example.com\r\nSubject: Raw\r\nDate: Sun, 22 Nov 2026 10:00:00 +0000\r\nMessage-ID: <1@${domain}>\r\n\r\nRaw body\r\n`,
    );
    const body = { raw: raw.toString('base64'), to: ['ada@example.com'] };
    const { id } = (await acme.api.post('/v1/emails/raw', body)).body.data;
    const again = (await resend(id)).body.data.id;
    expect(await acme.api.email(again)).toMatchObject({ subject: 'Raw', resentFrom: id });
    const content = async (each: string) => (await acme.api.get(`/v1/emails/${each}/content`)).body.data;
    expect(await content(again)).toEqual(await content(id));
  });

  it('honours idempotency keys and suppressions as a send', async () => {
    const id = await acme.api.send(MAIL);
    const key = { 'idempotency-key': 'again' };
    const answers = await Promise.all([resend(id, key), resend(id, key)]);
    expect(new Set(answers.map(({ body }) => body.data.id)).size).toBe(1);
    await acme.api.post('/v1/suppressions', { email: 'eve@example.com', reason: 'manual' });
    expect((await resend(id.toUpperCase(), key)).body).toEqual(answers[0].body);
    const other = (await resend(id)).body.data.id;
    expect((await resend(other, key)).status).toBe(202);
    expect((await resend(id)).body.data.suppressedRecipients).toEqual([{ email: 'eve@example.com', reason: 'manual' }]);
  });

  it('refuses emails that are no longer stored, and returns what it has accepted under a key before', async () => {
    const id = await acme.api.send(MAIL);
    const key = { 'idempotency-key': 'before' };
    const accepted = await resend(id, key);
    await app.db.query('delete from email_contents where organization_id = $1 and email_id = $2', [
      acme.organizationId,
      id,
    ]);
    expect(await resend(id)).toMatchObject({ status: 409, body: { error: { code: 'email_not_resendable' } } });
    expect((await resend(randomUUID())).status).toBe(404);
    expect(await resend(id, { 'idempotency-key': 'new' })).toMatchObject({ status: 409 });
    const again = await resend(id, key);
    expect([again.status, again.body]).toEqual([202, accepted.body]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
  });
});
