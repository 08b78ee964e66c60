import fc from 'fast-check';
import { OrganizationsService } from '../../../src/auth/organizations/organizations.service';
import { HOUR } from '../../../src/common/clock';
import { newId, timeOfId } from '../../../src/common/ids';
import { addressKey, domainOf } from '../../../src/common/mail-address';
import { parseSendRequest } from '../../../src/modules/emails/accept/request/parse-send-request';
import type { Recipient, SendRequest } from '../../../src/modules/emails/accept/request/send-request';
import { SendEmailsService } from '../../../src/modules/emails/accept/send-emails.service';
import { fullRequest, sendBody } from '../../factories/send-requests';
import { countEmails, readCounters, readStoredEmail, type StoredEmail } from '../../factories/stored-email';
import { addDomain, addSuppression, createTenant, type Tenant } from '../../factories/tenants';
import { type Core, startCore } from '../../setup/core-context';
import { type OpenTestDatabase, openTestDatabase } from '../../setup/open-test-database';

describe('accepting emails', () => {
  let db: OpenTestDatabase;
  let core: Core;
  let sender: SendEmailsService;
  let tenant: Tenant;

  beforeAll(async () => {
    db = await openTestDatabase({ poolSize: 2 });
    core = await startCore(db.url);
    sender = core.get(SendEmailsService);
  });
  beforeEach(async () => {
    tenant = await createTenant(db);
  });
  afterAll(async () => {
    await core.close();
    await db.drop();
  });

  const send = async (fields: Record<string, unknown> = {}, submitter = tenant.as('live')) =>
    (await sender.sendOne(sendBody(fields), undefined, submitter)).accepted;

  async function stored(fields: Record<string, unknown> = {}, submitter = tenant.as('live')): Promise<StoredEmail> {
    return readStoredEmail(db, (await send(fields, submitter)).id);
  }

  async function refusal(fields: Record<string, unknown>, submitter = tenant.as('live')): Promise<unknown> {
    const error = await send(fields, submitter).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(await countEmails(db, tenant.organizationId)).toBe(0);
    return error;
  }

  describe('writes', () => {
    it('all rows of a minimal email', async () => {
      const accepted = await send();
      expect(accepted).toEqual({ kind: 'accepted', id: expect.any(String), status: 'queued', suppressed: [] });
      const rows = await readStoredEmail(db, accepted.id);
      const key = { organization_id: tenant.organizationId, mode: 'live' };
      expect(rows.email).toMatchObject({
        ...key,
        domain_id: tenant.domainId,
        status: 'queued',
        from_email: `noreply@${tenant.domain}`,
        to_emails: ['ada@example.com'],
        cc_emails: null,
        tags: null,
        metadata: null,
        event_sequence: 1,
        scheduled_for: null,
      });
      expect(rows.content).toMatchObject({ ...key, html: null, text: 'Hello', headers: null, attachment_count: 0 });
      expect(rows.events).toMatchObject([{ ...key, sequence: 1, event_type: 'queued', source: 'api', data: {} }]);
      expect(rows.recipients).toMatchObject([{ ...key, position: 0, kind: 'to', status: 'queued', attempts: 0 }]);
      expect(rows.deliveries).toMatchObject([
        { ...key, recipient: 'ada@example.com', destination: 'example.com', state: 'ready', attempt: 0 },
      ]);
      // The one is the process's estimate of the database's time, the other the time of the id: they differ by milliseconds.
      expect(Math.abs(Number(rows.deliveries[0]?.due_at) - Number(rows.email.created_at))).toBeLessThan(60_000);
      expect(rows.email.created_at).toEqual(timeOfId(rows.email.id as string));
      expect(await readCounters(db, tenant.organizationId)).toEqual({ emails: 1, accepted: 1 });
    });

    it('every field, byte for byte', async () => {
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(fullRequest, async (body) => {
          const { id } = await send(body);
          const parsed = parseSendRequest(body, new Date());
          if (!parsed.ok) throw new Error(JSON.stringify(parsed.error.details));
          expectStored(await readStoredEmail(db, id), parsed.request, tenant);
          runs += 1;
        }),
        { numRuns: 60 },
      );
      expect((await readCounters(db, tenant.organizationId)).emails).toBe(runs);
    });

    it('the content of an ordinary email compressed, which by itself Postgres does above two kilobytes only', async () => {
      const html = `<table>${'<tr><td>Garden chair, ash</td><td>2 × 49.00</td></tr>'.repeat(16)}</table>`;
      const { content } = await stored({ html, text: 'Your order is on its way' });
      expect(content).toMatchObject({ html, text: 'Your order is on its way' });
      const [size] = await db.query(
        `select pg_column_size(html) as html, pg_column_size(padding) as padding
         from email_contents c where email_id = $1`,
        [content.email_id],
      );
      expect(Buffer.byteLength(html)).toBeGreaterThan(800);
      expect(size?.html).toBeLessThan(400);
      expect(size?.padding).toBeLessThan(64);
    });

    it('blind copies as recipients that no header shows', async () => {
      const rows = await stored({ to: ['a@x.example'], cc: ['b@x.example'], bcc: ['"C" <c@x.example>'] });
      expect(rows.email).toMatchObject({ cc_emails: ['b@x.example'], bcc_emails: ['c@x.example'] });
      expect(rows.recipients.map(({ kind, address }) => [kind, address])).toEqual([
        ['to', 'a@x.example'],
        ['cc', 'b@x.example'],
        ['bcc', 'c@x.example'],
      ]);
      expect(rows.deliveries).toHaveLength(3);
      expect(JSON.stringify(rows.content)).not.toContain('c@x.example');
    });

    it('the same address once', async () => {
      const rows = await stored({
        to: ['Ada@X.example', 'ada@x.example'],
        cc: ['ADA@x.example'],
        bcc: ['b@x.example'],
      });
      expect(rows.recipients.map(({ address }) => address)).toEqual(['Ada@x.example', 'b@x.example']);
      expect(await readCounters(db, tenant.organizationId)).toEqual({ emails: 1, accepted: 2 });
    });

    it('a scheduled email as one that waits', async () => {
      const scheduledAt = new Date(Date.now() + HOUR);
      const expiresAt = new Date(scheduledAt.getTime() + HOUR);
      const rows = await stored({ scheduledAt: scheduledAt.toISOString(), expiresAt: expiresAt.toISOString() });
      expect(rows.email).toMatchObject({ status: 'scheduled', scheduled_for: scheduledAt, expires_at: expiresAt });
      expect(rows.recipients).toMatchObject([{ status: 'scheduled' }]);
      expect(rows.events).toMatchObject([
        { event_type: 'scheduled', data: { scheduledAt: scheduledAt.toISOString() } },
      ]);
      expect(rows.deliveries).toMatchObject([
        { state: 'waiting', due_at: scheduledAt, first_due_at: scheduledAt, expires_at: expiresAt },
      ]);
    });

    it('the life of its category from when it is due, where it has none of its own', async () => {
      const env = { MESSAGE_LIFE_TRANSACTIONAL_HOURS: '2', MESSAGE_LIFE_BULK_HOURS: '48' };
      const brief = await startCore(db.url, { env });
      const lifeOf = async (fields: Record<string, unknown>, process = brief) => {
        const { accepted } = await process
          .get(SendEmailsService)
          .sendOne(sendBody(fields), undefined, tenant.as('live'));
        const [delivery] = (await readStoredEmail(db, accepted.id)).deliveries;
        return delivery?.expires_at && (delivery.expires_at.getTime() - delivery.first_due_at.getTime()) / HOUR;
      };
      try {
        const scheduledAt = new Date(Date.now() + 3 * HOUR);
        const expiresAt = new Date(scheduledAt.getTime() + 5 * HOUR).toISOString();
        expect(await lifeOf({})).toBe(2);
        expect(await lifeOf({ category: 'bulk' })).toBe(48);
        expect(await lifeOf({ scheduledAt: scheduledAt.toISOString() })).toBe(2);
        expect(await lifeOf({ scheduledAt: scheduledAt.toISOString(), expiresAt })).toBe(5);
        // The engine's own four days, which end as a bounce.
        expect(await lifeOf({ category: 'bulk' }, core)).toBeNull();
      } finally {
        await brief.close();
      }
    });

    it('the wish to track: the own one, else that of the organization', async () => {
      expect((await stored()).email).toMatchObject({ track_opens: false, track_clicks: false });
      await core.get(OrganizationsService).setTracking(tenant.organizationId, { trackOpens: true });
      expect((await stored()).email).toMatchObject({ track_opens: true, track_clicks: false });
      const own = await stored({ tracking: { opens: false, clicks: true } });
      expect(own.email).toMatchObject({ track_opens: false, track_clicks: true });
    });

    it('a batch as separate emails, whatever becomes of the others', async () => {
      const bodies = [sendBody(), sendBody({ subject: '' }), sendBody({ from: 'a@unknown.example' }), sendBody()];
      const { results } = await sender.sendBatch(bodies, undefined, tenant.as('live'));
      expect(results.map((result) => (result.kind === 'refused' ? result.code : result.status))).toEqual([
        'queued',
        'invalid_request',
        'domain_not_verified',
        'queued',
      ]);
      expect(results[1]).toMatchObject({ details: { validation: { '1.subject': [expect.any(String)] } } });
      expect(await countEmails(db, tenant.organizationId)).toBe(2);
    });
  });

  describe('leaves out suppressed recipients', () => {
    const suppress = (email: string, reason: string, more: { mode?: 'test'; expiresAt?: Date } = {}) =>
      addSuppression(db, tenant, { email, reason, ...more });

    it('one of several', async () => {
      await suppress('b@x.example', 'manual');
      await suppress('b@x.example', 'hard_bounce');
      const accepted = await send({ to: ['a@x.example', 'B@X.example'], cc: ['c@x.example'] });
      expect(accepted.suppressed).toEqual([{ email: 'B@x.example', reason: 'hard_bounce' }]);
      const rows = await readStoredEmail(db, accepted.id);
      expect(rows.recipients.map(({ position, address }) => [position, address])).toEqual([
        [0, 'a@x.example'],
        [1, 'c@x.example'],
      ]);
      expect(rows.deliveries.map(({ recipient }) => recipient)).toEqual(['a@x.example', 'c@x.example']);
      expect(await readCounters(db, tenant.organizationId)).toEqual({ emails: 1, accepted: 2 });
    });

    it('all of them', async () => {
      await suppress('a@x.example', 'hard_bounce');
      await suppress('b@x.example', 'spam_complaint');
      expect(await refusal({ to: ['a@x.example'], bcc: ['b@x.example'] })).toMatchObject({
        code: 'recipient_suppressed',
        details: {
          suppressedRecipients: [
            { email: 'a@x.example', reason: 'hard_bounce' },
            { email: 'b@x.example', reason: 'spam_complaint' },
          ],
        },
      });
    });

    it('unsubscribed ones from bulk mail only', async () => {
      await suppress('a@x.example', 'unsubscribe');
      expect(await refusal({ to: ['a@x.example'], category: 'bulk' })).toMatchObject({ code: 'recipient_suppressed' });
      expect((await send({ to: ['a@x.example'] })).suppressed).toEqual([]);
      await suppress('a@x.example', 'soft_bounce');
      await expect(send({ to: ['a@x.example'] })).rejects.toMatchObject({ code: 'recipient_suppressed' });
    });

    it('of this organization and mode, as long as the entry lasts', async () => {
      const other = await createTenant(db);
      await addSuppression(db, other, { email: 'a@x.example', reason: 'manual' });
      await suppress('a@x.example', 'manual', { mode: 'test' });
      await suppress('a@x.example', 'hard_bounce', { expiresAt: new Date(Date.now() - 1_000) });
      expect((await send({ to: ['a@x.example'] })).suppressed).toEqual([]);
      await suppress('b@x.example', 'hard_bounce', { expiresAt: new Date(Date.now() + HOUR) });
      await expect(send({ to: ['b@x.example'] })).rejects.toMatchObject({ code: 'recipient_suppressed' });
    });

    it('each item of a coalesced batch by its own list', async () => {
      await suppress('b@x.example', 'manual');
      const to = [['a@x.example'], ['b@x.example', 'c@x.example'], ['b@x.example'], ['c@x.example', 'b@x.example']];
      const bodies = [
        sendBody({ to: to[0] }),
        sendBody({ from: 'x@unknown.example' }),
        ...to.map((list) => sendBody({ to: list })),
      ];
      const { results } = await sender.sendBatch(bodies, undefined, tenant.as('live'));
      expect(results.map((result) => (result.kind === 'refused' ? result.code : result.suppressed.length))).toEqual([
        0,
        'domain_not_verified',
        0,
        1,
        'recipient_suppressed',
        1,
      ]);
    });
  });

  describe('asks whose domain it is', () => {
    it('refuses an unknown one, and that of another organization', async () => {
      const other = await createTenant(db);
      const expected = { code: 'domain_not_verified' };
      expect(await refusal({ from: 'a@unknown.example' })).toMatchObject(expected);
      expect(await refusal({ from: `a@${other.domain}` })).toMatchObject(expected);
      expect(await refusal({ from: `a@sub.${tenant.domain}` })).toMatchObject(expected);
    });

    it.each(['pending', 'failed'])('takes a %s one for test mail only', async (status) => {
      tenant = await createTenant(db, { status });
      expect(await refusal({})).toMatchObject({ code: 'domain_not_verified' });
      const rows = await stored({}, tenant.as('test'));
      expect(rows.email).toMatchObject({ mode: 'test' });
      expect(rows.deliveries).toMatchObject([{ mode: 'test' }]);
      expect(await readCounters(db, tenant.organizationId, 'test')).toEqual({ emails: 1, accepted: 1 });
      expect(await readCounters(db, tenant.organizationId, 'live')).toEqual({});
    });

    it('completes the sender with the default domain', async () => {
      const second = await addDomain(db, tenant.organizationId, { domain: `second.${tenant.domain}` });
      expect((await stored({ from: { email: 'billing', name: 'Bills' } })).email).toMatchObject({
        from_email: `billing@${tenant.domain}`,
        from_name: 'Bills',
        domain_id: tenant.domainId,
      });
      expect((await stored({ from: `A@SECOND.${tenant.domain}` })).email).toMatchObject({
        from_email: `A@second.${tenant.domain}`,
        domain_id: second,
      });
    });

    it('refuses a bare local part without a default domain', async () => {
      await db.query('update domains set is_default = false where organization_id = $1', [tenant.organizationId]);
      expect(await refusal({ from: 'billing' })).toMatchObject({ code: 'domain_not_verified' });
      expect(await refusal({})).toMatchObject({ code: 'domain_not_verified' });
    });

    it('lets a bound key send from its domain only', async () => {
      const second = await addDomain(db, tenant.organizationId, { domain: `second.${tenant.domain}` });
      const bound = tenant.as('live', second);
      expect(await refusal({ from: `a@${tenant.domain}` }, bound)).toMatchObject({ code: 'domain_not_allowed' });
      expect((await stored({ from: `a@second.${tenant.domain}` }, bound)).email.domain_id).toBe(second);
      expect((await stored({}, bound)).email.domain_id).toBe(second);
    });
  });

  describe('limits test mail', () => {
    const many = (count: number) => Array.from({ length: count }, () => `${newId()}@x.example`);

    it('by recipients, per sender domain', async () => {
      await send({ to: many(50) }, tenant.as('test'));
      await send({ to: many(49) }, tenant.as('test'));
      await expect(send({ to: many(2) }, tenant.as('test'))).rejects.toMatchObject({
        code: 'sending_limit_exceeded',
        details: { limit: 100, used: 99, requested: 2, resetsAt: expect.stringMatching(/T00:00:00.000Z$/) },
      });
      await send({ to: many(1) }, tenant.as('test'));
      await send({ to: many(50) });
      const second = await addDomain(db, tenant.organizationId, { domain: `second.${tenant.domain}` });
      expect((await stored({ from: `a@second.${tenant.domain}` }, tenant.as('test'))).email.domain_id).toBe(second);
    });

    it('exactly, however many come at once', async () => {
      const results = await Promise.allSettled(
        Array.from({ length: 60 }, () => send({ to: many(3) }, tenant.as('test'))),
      );
      const accepted = results.filter((result) => result.status === 'fulfilled');
      expect(accepted).toHaveLength(33);
      expect(await readCounters(db, tenant.organizationId, 'test')).toEqual({ emails: 33, accepted: 99 });
    });
  });
});

function expectStored(rows: StoredEmail, request: SendRequest, tenant: Tenant): void {
  const of = (kind: Recipient['kind']) => request.recipients.filter((recipient) => recipient.kind === kind);
  const emails = (list: readonly { email: string }[]) => (list.length === 0 ? null : list.map(({ email }) => email));
  const shown = (list: readonly Recipient[]) =>
    list.map(({ email, name }) => ({ email, ...(name !== undefined && { name }) }));
  expect(rows.email).toMatchObject({
    from_email: `${request.from.localPart}@${tenant.domain}`,
    from_name: request.from.name ?? null,
    subject: request.subject,
    to_emails: emails(of('to')),
    cc_emails: emails(of('cc')),
    bcc_emails: emails(of('bcc')),
    reply_to: emails(request.replyTo),
    tags: request.tags.length === 0 ? null : request.tags,
    category: request.category,
    track_opens: request.tracking.opens,
    track_clicks: request.tracking.clicks,
  });
  expect(rows.email.metadata).toEqual(request.metadata);
  expect(rows.content).toMatchObject({ html: request.html ?? null, text: request.text ?? null });
  expect(rows.content.headers ?? {}).toEqual(request.headers);
  expect(rows.content.addressees).toEqual({ to: shown(of('to')), cc: shown(of('cc')), replyTo: request.replyTo });
  expect(rows.content.attachment_count).toBe(request.attachments.length);
  expect(rows.attachments).toMatchObject(
    request.attachments.map(({ filename, contentType, contentId, content }, position) => ({
      position,
      filename,
      content_type: contentType,
      content_id: contentId ?? null,
      size: content.length,
      content,
    })),
  );
  expect(rows.recipients.map(({ address, kind }) => [address, kind])).toEqual(
    request.recipients.map(({ email, kind }) => [email, kind]),
  );
  expect(rows.deliveries.map(({ recipient, destination }) => [recipient, destination])).toEqual(
    request.recipients.map(({ email }) => [email, domainOf(email)]),
  );
  expect(new Set(rows.recipients.map(({ address }) => addressKey(address as string))).size).toBe(
    request.recipients.length,
  );
}
