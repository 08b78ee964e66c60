import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Database } from '../../../src/database/pool/database.service';
import { newId } from '../../../src/common/ids';
import { parseAddress } from '../../../src/common/mail-address';
import { PrivacyWork } from '../../../src/modules/privacy/requests/privacy-work.service';
import { AuthenticationService } from '../../../src/modules/inbound-mail/authentication/authentication.service';
import { InboundAddressesBackfill } from '../../../src/modules/inbound-mail/emails/inbound-addresses.backfill';
import { InboundMailService } from '../../../src/modules/inbound-mail/inbound-mail.service';
import { SubjectErasureService } from '../../../src/modules/emails/privacy/subject-erasure.service';
import type { ClaimedMessage, SettledMessage } from '../../../src/modules/webhooks/queue/webhook-queue';
import { WebhookMessagesRepository } from '../../../src/modules/webhooks/queue/webhook-messages.repository';
import { MailboxRepository } from '../../../src/modules/local-mailbox/mailbox.repository';
import { insertInboundEmail } from '../../factories/inbound-emails';
import { DEFERRED } from '../../factories/outcomes';
import { ErasureScene } from './erasure-scene';
import { hidingMail, randomOf, shows, SPELLINGS } from './hiding-places';

const BOB = 'bob@x.example';
const MAILS = 8;
const UNKNOWN = { spf: { result: 'none' }, dkim: [], dmarc: { result: 'none' } } as const;

describe('whatever an address hides in', () => {
  let scene: ErasureScene;
  const dataDir = mkdtempSync(join(tmpdir(), 'waybill-erasure-'));
  beforeAll(async () => {
    scene = await ErasureScene.open({ WAYBILL_DATA_DIR: dataDir });
  });
  afterAll(() => scene.close());

  /** Every value of every row of every table, as bytes. */
  async function dump(): Promise<{ table: string; bytes: Buffer }[]> {
    const tables = await scene.db.query<{ name: string }>(
      "select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace order by 1",
    );
    const dumped: { table: string; bytes: Buffer }[] = [];
    for (const { name } of tables) {
      const rows = await scene.db.query<Record<string, unknown>>(`select * from only "${name}"`);
      for (const value of rows.flatMap((row) => Object.values(row))) {
        if (Buffer.isBuffer(value)) dumped.push({ table: name, bytes: value });
        else if (value !== null) dumped.push({ table: name, bytes: Buffer.from(stringsOf(value).join('\n')) });
      }
    }
    return dumped;
  }

  const files = () =>
    readdirSync(dataDir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name)));

  async function tablesShowing(...words: readonly string[]): Promise<string[]> {
    const showing = (await dump()).filter(({ bytes }) => shows(bytes, words)).map(({ table }) => table);
    return [...new Set(showing.map((name) => name.replace(/_(default|p?\d+(_\d+)?)$/, '')))];
  }

  async function erase(email: string) {
    const normal = parseAddress(email);
    const request = await scene.request(normal.ok ? normal.email : email);
    for (;;) {
      await scene.workOff();
      const { status, receipt } = await scene.read(request);
      if (status !== 'pending') return { status, receipt };
      scene.clock.advance(60_000);
    }
  }

  it.each([
    ['victimqz@x.example', 1],
    ['nvictiqz@x.example', 2],
    ['00qz.m@x.example', 3],
    ['zoëqz@bücher.example', 4],
  ])('%s is gone from every table and file, and what others get is kept', async (ann, seed) => {
    const word = ann.slice(0, ann.indexOf('@'));
    const random = randomOf(seed);
    const scheduledAt = new Date(scene.clock.now().getTime() + 3_600_000).toISOString();
    const ids: string[] = [];
    for (let n = 0; n < MAILS; n += 1) {
      const mail = { ...hidingMail(ann, BOB, random), scheduledAt };
      ids.push((await scene.send(mail, n % 2 === 0 ? { key: `order ${n} of ${encodeURI(ann)}` } : {})).id);
    }
    const [first = ''] = ids;
    await scene.tell(
      first,
      BOB,
      { ...DEFERRED, reason: `after\t${ann}`, smtp: { code: 451, response: `451\n<${ann}>` } } as never,
      await positionOf(first, BOB),
    );
    await scene.worker.get(MailboxRepository).insert([copyOf(scene.tenant.organizationId, ann)]);
    expect(await tablesShowing(word)).toEqual([
      ...['deliveries', 'email_attachments', 'email_contents', 'email_events', 'email_recipients', 'emails'],
      ...['idempotency_keys', 'mailbox_messages'],
    ]);

    expect(await erase(ann)).toMatchObject({
      status: 'completed',
      receipt: { emailsAnonymized: MAILS, contentsDeleted: 0 },
    });

    expect(await tablesShowing(word, 'qzname')).toEqual([]);
    expect(files().filter((bytes) => shows(bytes, [word]))).toEqual([]);
    for (const id of ids) {
      const { email, content, recipients, attachments, deliveries } = await scene.delivery.read(id);
      expect(recipients.map(({ address }) => address)).toContain(BOB);
      expect(deliveries.map(({ recipient }) => recipient)).toEqual([BOB]);
      expect(email).toMatchObject({
        subject: expect.stringMatching(/^KEPT /),
        tags: ['kept', expect.stringMatching(/^t /)],
      });
      expect(email.metadata).toMatchObject({ kept: expect.stringMatching(/^KEPT [^]* KEPT$/) });
      expect(content).toMatchObject({
        text: expect.stringMatching(/^KEPT [^]* KEPT$/),
        html: expect.stringMatching(/>KEPT<\/a>$/),
      });
      expect(attachments).toMatchObject([
        { filename: expect.stringMatching(/ KEPT\.txt$/), content: Buffer.from('KEPT') },
        { size: 0, content: Buffer.alloc(0) },
      ]);
    }
  });

  const positionOf = async (id: string, address: string) =>
    (await scene.delivery.read(id)).recipients.findIndex((recipient) => recipient.address === address);

  const copyOf = (organizationId: string | null, address: string) => ({
    ...{ id: newId(), receivedAt: new Date(), returnPath: 'b@x.example', sender: '', subject: '', organizationId },
    recipients: [BOB],
    raw: Buffer.from(
      `To: ${BOB}\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from(`To ${address}`).toString('base64')}`,
    ),
  });

  it('a repeated request with an idempotency key that contained the address gets the stored response', async () => {
    const mail = { to: [BOB, 'keyqz@x.example'] };
    // Keys are often joined from a word and the address, which looks like another address.
    const keys = ['for keyqz@x.example', 'welcome-keyqz@x.example', '7_keyqz%40x.example', 'keyqz@x.examples'];
    const ids: string[] = [];
    for (const key of keys) ids.push((await scene.send(mail, { key })).id);
    await erase('keyqz@x.example');
    expect(await tablesShowing('keyqz')).toEqual([]);
    for (const [index, key] of keys.entries()) expect((await scene.send(mail, { key })).id).toBe(ids[index]);
  });

  it('keys that look like the hash of a key are keys of their own, and one that expired is hashed again', async () => {
    const email = 'hashqz@x.example';
    const mail = { to: [BOB, email] };
    const key = `for ${email}`;
    const likeIt = `sha256:${createHash('sha256').update(key).digest('hex')}`;
    const literal = await scene.send(mail, { key: likeIt });
    const first = await scene.send(mail, { key });
    expect(first.id).not.toBe(literal.id);
    expect(await erase(email)).toMatchObject({ status: 'completed' });
    expect([(await scene.send(mail, { key })).id, (await scene.send(mail, { key: likeIt })).id]).toEqual([
      ...[first.id, literal.id],
    ]);
    await scene.db.query("update idempotency_keys set created_at = created_at - interval '25 hours'");
    const second = await scene.send(mail, { key });
    expect(second.id).not.toBe(first.id);
    expect(await erase(email)).toMatchObject({ status: 'completed' });
    expect((await scene.send(mail, { key })).id).toBe(second.id);
    await erase(email);
    expect(await tablesShowing('hashqz')).toEqual([]);
  });

  it('others follow links that show the subject, and servers name it, before and after', async () => {
    const [ann, sender] = ['linkqz@x.example', `linkqz@${scene.tenant.domain}`];
    const { id } = await scene.send({ to: [ann, BOB] });
    const written = await scene.send({ to: [BOB], from: sender });
    const answered = await scene.send({ to: [BOB], replyTo: ['desk@x.example', 'linkqz-2@x.example'] });
    const tell = async (emailId: string, name: string, position: number) => {
      for (const spell of SPELLINGS) {
        const url = `https://x.example/to/${spell(name)}?u=${spell(name)}&z=1#${spell(name)}`;
        await scene.tell(emailId, BOB, { kind: 'clicked', data: { url } }, position);
      }
      const response = `451 4.7.1 <${BOB}>: not as long as ${name} is listed`;
      const deferred = { ...DEFERRED, reason: `after ${name}`, smtp: { code: 451, response, lines: [response] } };
      await scene.tell(emailId, BOB, deferred as never, position);
    };
    for (const [address, emailId, position] of [
      [ann, id, 1],
      [sender, written.id, 0],
      ['linkqz-2@x.example', answered.id, 0],
    ] as const) {
      await tell(emailId, address, position);
      await erase(address);
      await tell(emailId, address, position);
    }
    expect(await tablesShowing('linkqz')).toEqual([]);
    const last = (await scene.delivery.read(id)).events.slice(-2).map(({ data }) => data);
    expect(last).toMatchObject([
      { recipient: BOB, url: expect.stringMatching(/^https:\/\/x\.example\/to\//) },
      { recipient: BOB, code: 451, response: expect.stringMatching(/^451 4\.7\.1 .* is listed$/) },
    ]);
  });

  it('endpoints return their requests in their own encoding, before an erasure and after it', async () => {
    const ann = 'echoqz@x.example';
    const { organizationId } = scene.tenant;
    const before = await scene.send({ to: [ann, BOB] });
    const underWay = await scene.send({ to: [ann, BOB] });
    const other = await scene.send({ to: [BOB] });
    const endpointId = newId();
    const claimedUntil = new Date(scene.clock.now().getTime() + 60_000);
    await scene.db.query(
      `insert into webhook_endpoints (organization_id, mode, id, url, events, enabled, secret, position, created_at, updated_at)
       values ($1, 'live', $2, 'https://x.example', '{*}', true, '', $2, now(), now())`,
      [organizationId, endpointId],
    );
    const answer = {
      headers: {},
      body: `rot13 rpubdm ${Buffer.from(ann).toString('base64')}`,
      isCut: false,
      durationMs: 1,
    };
    await scene.db.query(
      `insert into webhook_messages (
         organization_id, mode, endpoint_id, id, email_id, sequence, event_type, next_attempt_at, created_at, attempts,
         state, claimed_until, last_answer
       )
       select $1, 'live', $2, v.id, v.email_id, v.sequence, v.event_type, now(), now(), 1,
         case when v.email_id = $4 then 'sending' else 'failed' end, case when v.email_id = $4 then $6::timestamptz end,
         case when v.email_id = $3 then $7::jsonb when v.email_id = $5 then '{"body": "kept"}' end
       from email_events v
       where v.email_id in ($3, $4, $5)`,
      [organizationId, endpointId, before.id, underWay.id, other.id, claimedUntil, JSON.stringify(answer)],
    );
    await erase(ann);
    const settle = async () => {
      const values = [underWay.id, claimedUntil];
      await scene.db.query(
        "update webhook_messages set state = 'sending', claimed_until = $2 where email_id = $1",
        values,
      );
      const [row] = await scene.db.query('select id from webhook_messages where email_id = $1', [underWay.id]);
      const message = { organizationId, mode: 'live', endpointId, id: row?.id, claimedUntil };
      const ended: Omit<SettledMessage, 'message'> = {
        state: 'failed',
        isCharged: true,
        nextAttemptAt: null,
        status: 500,
        error: 'x',
        response: answer,
        deliveredAt: null,
        result: undefined,
      };
      await scene.worker.get(Database).transaction((tx) => {
        scene.worker.get(WebhookMessagesRepository).settle([{ ...ended, message: message as ClaimedMessage }], tx);
        return Promise.resolve();
      });
      const left = await scene.db.query('select email_id, last_status, last_answer from webhook_messages');
      return new Map(left.map((each) => [each.email_id, [each.last_status, each.last_answer]]));
    };
    expect(await settle()).toEqual(
      new Map([
        [before.id, [null, null]],
        [underWay.id, [500, null]],
        [other.id, [null, { body: 'kept' }]],
      ]),
    );
    expect(await tablesShowing('echoqz', 'rpubdm')).toEqual([]);
    // That of the next attempt, which sends what is left of the event.
    expect((await settle()).get(underWay.id)).toEqual([500, answer]);
    await scene.db.query('delete from webhook_messages');
  });

  it.each([
    ['zoëqz@x.example', ['Zoëqz@x.example', 'ZOËQZ@x.example', 'ZOëQZ@x.example', 'zOËqz@x.example']],
    ['ZOËQZ@x.example', ['zoëqz@x.example', 'ZOËQZ@x.example']],
    ['νικος.παππας@x.example', ['νικος.παππας@x.example', 'ΝΙΚΟΣ.ΠΑΠΠΑΣ@x.example']],
    ['ΝΙΚΟΣ.ΠΑΠΠΑΣ@x.example', ['νικος.παππας@x.example', 'ΝΙΚΟΣ.ΠΑΠΠΑΣ@x.example']],
  ])('%s is found in any case, also where the database has no locale', async (email, stored) => {
    const { keys } = scene.worker.get(SubjectErasureService).subjectOf(scene.tenant.as('live'), email);
    for (const collation of ['C', 'default']) {
      const sql = `select a from unnest($1::text[]) a where lower(a collate "${collation}") = any($2)`;
      expect((await scene.db.query(sql, [stored, keys])).map(({ a }) => a)).toEqual(stored);
    }
    expect(keys).not.toContain('zoeqz@x.example');
  });

  it.each(['νικος.παππας@x.example', 'ΝΙΚΟΣ.ΠΑΠΠΑΣ@x.example'])(
    '%s is erased however its sigmas are written',
    async (email) => {
      const spellings = ['νικος.παππας@x.example', 'Νικος.Παππας@x.example', 'ΝΙΚΟΣ.ΠΑΠΠΑΣ@x.example'];
      const sent = [];
      for (const spelling of spellings) {
        sent.push((await scene.send({ to: [spelling, BOB], subject: `For ${spelling}`, text: `To ${spelling}.` })).id);
      }
      const { organizationId } = scene.tenant;
      for (const from of spellings) await insertInboundEmail(scene.db, { organizationId, from, to: 'in@acme.example' });
      expect((await erase(email)).receipt).toMatchObject({ recipientsAnonymized: 3, inboundEmailsDeleted: 3 });
      const kept = await scene.db.query(
        `select e.subject, e.to_emails, c.text, e.organization_id from emails e join email_contents c on c.email_id = e.id where e.id = any($1)`,
        [sent],
      );
      expect(kept).toHaveLength(3);
      expect(JSON.stringify(kept)).not.toMatch(/παππ/i);
    },
  );

  it.each(['İbrahimqz@x.example', 'i̇brahimqz@x.example', 'İBRAHIMQZ@x.example'])(
    '%s is erased where it is written with an İ, and no other person is',
    async (email) => {
      const [dotted, plain] = [['İbrahimqz@x.example', 'i̇brahimqz@x.example'], 'ibrahimqz@x.example'];
      const send = (to: string) => scene.send({ to: [to, BOB], replyTo: [to], text: `To ${to}.` });
      const sent = [await send(dotted[0]!), await send(dotted[1]!), await send(plain)].map(({ id }) => id);
      const shown = async () => {
        const sql = `
          select e.to_emails, e.reply_to, c.text, e.organization_id
          from emails e join email_contents c on c.email_id = e.id where e.id = any($1) order by e.id`;
        return (await scene.db.query(sql, [sent])).map((row) => JSON.stringify(row));
      };
      const before = await shown();
      expect((await erase(email)).receipt).toMatchObject({ recipientsAnonymized: 2 });
      const after = await shown();
      for (const row of after.slice(0, 2)) expect(row).not.toMatch(/brahimqz/i);
      expect(after[2]).toBe(before[2]);
      expect((await erase(plain)).receipt).toMatchObject({ recipientsAnonymized: 1 });
    },
  );

  it('an address without a letter’s other case is no other person’s', () => {
    const subject = (email: string) =>
      scene.worker.get(SubjectErasureService).subjectOf(scene.tenant.as('live'), email);
    expect(subject('ılker.ſtraße@x.example').keys).toEqual(['ılker.ſtraße@x.example']);
  });

  it('copies in the mailbox go with their organization only', async () => {
    const other = await scene.newTenant();
    const email = 'copyqz@x.example';
    const [own, foreign, nobodys] = [scene.tenant.organizationId, other.organizationId, null].map((owner) =>
      copyOf(owner, email),
    );
    await scene.worker.get(MailboxRepository).insert([own!, foreign!, nobodys!]);
    expect((await erase(email)).receipt).toMatchObject({ mailboxCopiesDeleted: 2 });
    const left = await scene.db.query('select id from mailbox_messages where id = any($1)', [
      [own!.id, foreign!.id, nobodys!.id],
    ]);
    expect(left).toEqual([{ id: foreign!.id }]);
  });

  it('mail to ten thousand others and the subject, whether it is the first or the last of them', async () => {
    jest.spyOn(scene.worker.get(AuthenticationService), 'examine').mockResolvedValue(UNKNOWN);
    const { organizationId } = scene.tenant;
    const route = { organizationId, routeId: newId(), domainId: newId(), webhookId: null };
    const take = async (to: readonly string[]) => {
      const message = Buffer.from(`From: Bob <${BOB}>\r\nTo: ${to.join(',\r\n ')}\r\n\r\nHi`);
      const client = { address: '192.0.2.1', helo: 'x', network: '192.0.2.0/24', sender: BOB };
      await scene.worker
        .get(InboundMailService)
        .take(message, [{ recipient: 'in@acme.example', routes: [route] }], client);
    };
    const others = Array.from({ length: 10_000 }, (_, n) => `Number ${n} <r${n}@x${n}.example>`);
    const ann = 'Crowdqz@B\u00fccher.example';
    await take([ann, ...others]);
    await take([...others, ann]);
    for (let n = 0; n < 21; n += 1) await take([...others.slice(n), `not${ann}`]);
    expect((await erase(ann)).receipt).toMatchObject({ inboundEmailsDeleted: 2 });
    expect(await scene.db.query('select count(*)::int from inbound_emails')).toEqual([{ count: 21 }]);
    await erase(`not${ann}`);
    expect(await tablesShowing('crowdqz')).toEqual([]);
  });

  it('mail that came before all of a long header was read is read again', async () => {
    const { organizationId } = scene.tenant;
    const others = Array.from({ length: 250 }, (_, n) => `Number ${n} <r${n}@x${n}.example>`).join(', ');
    // The factory stores two of its addresses.
    await insertInboundEmail(scene.db, { organizationId, to: `${others}, Ann <beforeqz@x.example>, ${BOB}` });
    for (let n = 0; n < 40; n += 1) await insertInboundEmail(scene.db, { organizationId });
    expect((await erase('beforeqz@x.example')).receipt).toMatchObject({ inboundEmailsDeleted: 0 });
    const readAgain = async () => {
      const total = { examined: 0, changed: 0 };
      for (let position: string | undefined = ''; position !== undefined;) {
        const after: string = position;
        const batch = await scene.worker
          .get(Database)
          .transaction((tx) => scene.worker.get(InboundAddressesBackfill).next(after, tx));
        total.examined += batch.examined;
        total.changed += batch.changed;
        position = batch.position;
      }
      return total;
    };
    const [stored] = await scene.db.query('select count(*)::int from inbound_emails');
    expect(await readAgain()).toEqual({ examined: stored?.count, changed: 1 });
    expect(await readAgain()).toEqual({ examined: stored?.count, changed: 0 });
    expect((await erase('beforeqz@x.example')).receipt).toMatchObject({ inboundEmailsDeleted: 1 });
    expect(await tablesShowing('beforeqz')).toEqual([]);
  });

  it('large attachments are looked through one at a time, from where a worker lost them', async () => {
    const ann = 'largeqz@x.example';
    const attachments = [0, 1, 2].map((n) => {
      const bytes = Buffer.alloc(2 * 1024 * 1024 + 100, `lorem ipsum ${n}\n`);
      // Across the end of one read part.
      if (n > 0) bytes.write(` ${ann} `, 1024 * 1024 - 5);
      return { filename: `${n}.txt`, content: bytes.toString('base64') };
    });
    const { id } = await scene.send({ to: [ann, BOB], attachments });
    const request = await scene.request(ann);
    const work = scene.worker.get(PrivacyWork);
    const sizes = async () => (await scene.delivery.read(id)).attachments.map(({ size }) => Number(size) > 0);
    const states: boolean[][] = [];
    const saved = jest.spyOn(work, 'saveProgress').mockImplementation(async (...given) => {
      await PrivacyWork.prototype.saveProgress.apply(work, given);
      states.push(await sizes());
      ending.abort();
    });
    // A worker that does one page only, over and over.
    let ending = new AbortController();
    while ((await scene.read(request)).status !== 'completed') {
      ending = new AbortController();
      await scene.workOff(scene.worker, ending.signal);
    }
    saved.mockRestore();
    expect(states.slice(0, 4)).toEqual([
      [true, true, true],
      [true, false, true],
      [true, false, false],
      [true, false, false],
    ]);
    expect(await tablesShowing('largeqz')).toEqual([]);
  });
});

/** The texts of a value, in names as well, without JSON's escapes. */
function stringsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || value instanceof Date) return [String(value)];
  return Object.entries(value).flatMap(([name, member]) => [name, ...stringsOf(member)]);
}
