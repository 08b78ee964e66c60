import { setTimeout as delay } from 'node:timers/promises';
import { DirectInserts } from '../harness/direct-inserts.mjs';
import { emailBody } from '../harness/mail.mjs';
import { say } from '../harness/say.mjs';
import { peakMemoryOf } from '../harness/usage.mjs';

const PRELOAD = 100;

/** Makes every recipient another one. */
let sequence = 0;

/**
 * Signed mail to the mail exchangers of many domains, encrypted by STARTTLS, compared with the same worker's mail to as many
 * that offer none: what the handshakes cost that connections and sessions which are used again do not save. The mails are
 * stored beforehand; the time runs from the commit that makes all of them due until the queue is empty.
 */
export async function prepare(bench, { messages, domains }) {
  const receivers = await bench.startHelper('tls-receivers', { domains });
  const { port, dnsServer } = receivers.started;
  const worker = await bench.startProduct('worker', {
    DELIVERY_MODE: 'direct',
    SMTP_PORT: String(port),
    DNS_SERVERS: dnsServer,
    ALLOW_PRIVATE_DESTINATIONS: 'true',
  });
  const inserts = new DirectInserts({ url: bench.databaseUrl, connections: 2, tenant: bench.tenant });
  const [command] = inserts.parse([emailBody(0)]);
  const scene = { bench, receivers, inserts };
  const contender = (name, kind) => ({
    name,
    prepare: () => preload(inserts, command, recipients(kind, messages, domains)),
    run: (_seconds, emails) => deliver(scene, name, emails),
    processes: { worker: worker.pid, postgres: { tree: bench.postgresPid }, receivers: receivers.pid },
  });
  return {
    name: `tls-domains, ${domains}`,
    unit: 'mails',
    contenders: [contender('no encryption', 'plain'), contender('product', 'tls')],
    targets: { 'no encryption': 0.5 },
    memory: () => ({ worker: peakMemoryOf(worker.pid) }),
    finish: async () => {
      await inserts.close();
      for (const process of [worker, receivers]) await process.stop();
    },
  };
}

/** In turn: adjacent mails of the queue go to different domains. */
function recipients(kind, count, domains) {
  return Array.from({ length: count }, (_, at) => `customer${(sequence += 1)}@${kind}${at % domains}.test`);
}

/** Stores accepted emails that are not in the queue yet. */
async function preload(inserts, command, to) {
  const emails = inserts
    .toEmails(to.map(() => command))
    .map((email, at) => ({ ...email, recipients: [{ ...command.request.recipients[0], email: to[at] }] }));
  for (let at = 0; at < emails.length; at += PRELOAD) {
    await inserts.insert(emails.slice(at, at + PRELOAD), { enqueue: false });
  }
  return emails;
}

async function deliver({ bench: { database }, receivers, inserts }, name, emails) {
  await receivers.call('reset');
  await inserts.enqueue(emails);
  const begin = performance.now();
  await database.query(`select pg_notify('waybill_work', '')`);
  await receivers.call('waitFor', { count: emails.length });
  await emptyQueue(database);
  const seconds = (performance.now() - begin) / 1_000;
  await assertDelivered(database, receivers, name, emails);
  return { count: emails.length, seconds };
}

async function emptyQueue(database) {
  for (;;) {
    const { rows } = await database.query('select exists (select from deliveries) as open');
    if (!rows[0].open) return;
    await delay(2);
  }
}

/** A figure is only valid when no mail was lost, sent twice or left unrecorded. */
async function assertDelivered(database, receivers, name, emails) {
  const { rows } = await database.query(
    `select count(*)::int as delivered from emails where id = any($1::uuid[]) and status = 'delivered'`,
    [emails.map(({ id }) => id)],
  );
  const { taken, connections, handshakes, continued } = await receivers.call('counts');
  if (rows[0].delivered !== emails.length || taken !== emails.length) {
    throw new Error(`Of ${emails.length} mails ${rows[0].delivered} are recorded as delivered; ${taken} were taken`);
  }
  say(`${name}: ${taken} mails, ${connections} connections, ${handshakes} handshakes, ${continued} of them continued`);
}
