import fc from 'fast-check';
import { insertInboundEmail } from '../../factories/inbound-emails';
import { storeEmail } from '../../factories/subject-emails';
import { addSuppression } from '../../factories/tenants';
import { PrivacyScene, type Requester } from './privacy-scene';

const ADA = 'ada@example.com';
/** The subject in any spelling that names the same mailbox, and others. */
const address = fc.constantFrom(
  ADA,
  'Ada@example.com',
  'ADA@EXAMPLE.COM',
  'bob@example.com',
  'ada@example.org',
  'eve@x.example',
);
/** A name in which her address ends; `ada@example.com.txt` would be an address at another host. */
const FILE = `from ${ADA} (1).txt`;
const isAda = (text: unknown) => String(text).toLowerCase() === ADA;
const text = fc.option(fc.string({ unit: 'grapheme', maxLength: 60 }).map((value) => value.replaceAll('\0', '')));
const event = fc.record({
  type: fc.constantFrom('sent', 'delivered', 'deferred', 'bounced', 'opened'),
  recipient: fc.option(address, { nil: undefined }),
  mentioned: address,
});
const email = fc.record({
  to: fc.array(address, { minLength: 1, maxLength: 3 }),
  cc: fc.array(address, { maxLength: 2 }),
  bcc: fc.array(address, { maxLength: 2 }),
  mode: fc.constantFrom('live' as const, 'test' as const),
  subject: text.map((value) => value ?? ''),
  html: text,
  text,
  events: fc.array(event, { maxLength: 4 }),
});
const hidden = (shown: string) => (isAda(shown) ? shown : '[redacted]');

describe('an export holds', () => {
  let scene: PrivacyScene;
  let acme: Requester;
  beforeAll(async () => {
    scene = await PrivacyScene.open();
  });
  beforeEach(async () => {
    acme = await scene.requester();
  });
  afterAll(() => scene.close());

  it('what the tables hold of the subject, and of no other person', async () => {
    const emails = fc.sample(email, { numRuns: 130, seed: 7 });
    for (const fields of emails) {
      const events = fields.events.map(({ type, recipient, mentioned }) => {
        return { type, data: { ...(recipient && { recipient }), response: `550 <${mentioned}>: no, ${mentioned}` } };
      });
      await storeEmail(scene.db, { ...fields, organizationId: acme.organizationId, events });
    }
    const { exportedData, itemCounts } = await scene.export(acme.api, ADA);
    expect(exportedData.emails).toEqual(await emailsOf(acme));
    expect(exportedData.events).toEqual(await eventsOf(acme));
    expect(exportedData.emails.length).toBeGreaterThan(30);
    expect(exportedData.events.length).toBeGreaterThan(exportedData.emails.length);
    const { emails: emailCount, events: eventCount } = itemCounts;
    expect([emailCount, eventCount]).toEqual([exportedData.emails.length, exportedData.events.length]);
    expect(JSON.stringify(exportedData)).not.toMatch(/bob@|eve@|ada@example\.org/i);
  });

  it('the suppressions of the subject, one for each reason', async () => {
    for (const fields of [
      { email: ADA, reason: 'manual', notes: 'asked by phone' },
      { email: 'Ada@Example.com', reason: 'spam_complaint' },
      { email: 'bob@example.com', reason: 'manual' },
    ]) {
      await addSuppression(scene.db, acme as never, fields);
    }
    await addSuppression(scene.db, acme as never, { email: ADA, reason: 'hard_bounce', mode: 'test' });
    const { exportedData } = await scene.export(acme.api, ADA);
    const rows = await scene.db.query(
      `select id, email, reason, suppressed_at, notes from suppressions
       where organization_id = $1 and mode = 'live' and address_key = $2`,
      [acme.organizationId, ADA],
    );
    const shown = rows.map(({ id, email: listed, reason, suppressed_at, notes }) => {
      return { id, email: listed, reason, suppressedAt: suppressed_at.toISOString(), ...(notes && { notes }) };
    });
    expect(shown).toHaveLength(2);
    expect(exportedData.suppressions).toEqual(expect.arrayContaining(shown));
    expect(exportedData.suppressions).toHaveLength(2);
  });

  it('mail that came from the subject with what it says, and mail that names it without', async () => {
    const { organizationId } = acme;
    const insert = (from: string, to: string) => insertInboundEmail(scene.db, { organizationId, from, to });
    const written = await insert(`Ada <${ADA.toUpperCase()}>`, 'help@acme.example');
    const named = await insert('Bob <bob@example.com>', ADA);
    await insert('Bob <bob@example.com>', 'help@acme.example');
    const { exportedData, itemCounts } = await scene.export(acme.api, ADA);
    const shown = { status: 'received', subject: 'Hello', ccEmails: [], bccEmails: [] };
    expect(exportedData.emails).toEqual([
      {
        ...{ ...shown, id: written, fromEmail: ADA, toEmails: ['[redacted]'], textBody: 'Good morning' },
        createdAt: expect.any(String),
      },
      { ...shown, id: named, fromEmail: '[redacted]', toEmails: [ADA], createdAt: expect.any(String) },
    ]);
    expect(itemCounts).toMatchObject({ emails: 2, events: 0 });
  });

  it('texts of emails beside their bodies, and emails from the subject or with it as reply-to', async () => {
    const { organizationId } = acme;
    const received = await storeEmail(scene.db, { organizationId, to: [ADA, 'bob@example.com'] });
    const sent = await storeEmail(scene.db, { organizationId, to: ['bob@example.com'] });
    const both = await storeEmail(scene.db, { organizationId, to: [ADA] });
    const answered = await storeEmail(scene.db, { organizationId, to: ['eve@x.example'] });
    await storeEmail(scene.db, { organizationId, to: ['eve@x.example'] });
    await scene.db.query("update emails set from_email = 'Ada@example.com' where id = any($1)", [[sent, both]]);
    await scene.db.query('update emails set reply_to = $2 where id = $1', [answered, ['bob@example.com', ADA]]);
    await scene.db.query('update emails set tags = $2, metadata = $3 where id = $1', [
      ...[received, ['a', `for ${ADA}`], { user: ADA, by: 'bob@example.com' }],
    ]);
    await scene.db.query('update email_contents set headers = $2 where email_id = $1', [received, { 'X-User': ADA }]);
    await scene.db.query(
      `insert into email_attachments (organization_id, mode, email_id, position, filename, content_type, size, content)
       values ($1, 'live', $2, 0, $3, 'text/plain', 1, 'x')`,
      [organizationId, received, FILE],
    );
    const { exportedData, itemCounts } = await scene.export(acme.api, ADA);
    expect(exportedData.emails.map(({ id }: { id: string }) => id)).toEqual([received, both, sent, answered]);
    expect(itemCounts).toMatchObject({ emails: 4, events: 4 });
    expect(exportedData.emails).toMatchObject([
      {
        tags: ['a', `for ${ADA}`],
        metadata: { user: ADA, by: '[redacted]' },
        headers: { 'X-User': ADA },
        attachments: [{ filename: FILE, contentType: 'text/plain', sizeBytes: 1 }],
      },
      { fromEmail: 'Ada@example.com', toEmails: [ADA] },
      { fromEmail: 'Ada@example.com', toEmails: ['[redacted]'] },
      { toEmails: ['[redacted]'], replyTo: ['[redacted]', ADA] },
    ]);
  });

  async function emailsOf({ organizationId }: Requester) {
    const rows = await scene.db.query(
      `select e.*, c.html, c.text from emails e
       left join email_contents c on c.organization_id = e.organization_id and c.mode = e.mode and c.email_id = e.id
       where e.organization_id = $1 and e.mode = 'live' and exists (
         select from email_recipients r
         where r.organization_id = e.organization_id and r.mode = e.mode and r.email_id = e.id and lower(r.address) = $2)
       order by e.id`,
      [organizationId, ADA],
    );
    return rows.map((row) => ({
      ...{ id: row.id, fromEmail: row.from_email, toEmails: row.to_emails.map(hidden) },
      ...{ ccEmails: (row.cc_emails ?? []).map(hidden), bccEmails: (row.bcc_emails ?? []).filter(isAda) },
      ...{ subject: row.subject, createdAt: row.created_at.toISOString(), status: row.status },
      ...(row.html !== null && { htmlBody: row.html }),
      ...(row.text !== null && { textBody: row.text }),
    }));
  }

  async function eventsOf({ organizationId }: Requester) {
    const rows = await scene.db.query(
      `select v.* from email_events v
       where v.organization_id = $1 and v.mode = 'live' and lower(coalesce(v.data->>'recipient', $2)) = $2 and exists (
         select from email_recipients r
         where r.organization_id = v.organization_id and r.mode = v.mode and r.email_id = v.email_id
           and lower(r.address) = $2)
       order by v.email_id, v.sequence`,
      [organizationId, ADA],
    );
    return rows.map(({ id, email_id: emailId, event_type: eventType, occurred_at, data }) => ({
      ...{ id, emailId, eventType, timestamp: occurred_at.toISOString() },
      eventData: {
        ...data,
        ...(data.response && { response: data.response.replace(/[a-z]+@[a-z.]+[a-z]/gi, hidden) }),
      },
    }));
  }
});
