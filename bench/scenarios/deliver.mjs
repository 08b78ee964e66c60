import { generateKeyPairSync } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { DirectInserts } from '../harness/direct-inserts.mjs';
import { emailBody } from '../harness/mail.mjs';
import { peakMemoryOf } from '../harness/usage.mjs';

const BODIES = 500;
const PRELOAD = 100;

/**
 * Signed mail to one next hop: the worker with all its records, compared with Nodemailer's pool and with a client that
 * only signs and writes. The mails are stored beforehand; the time runs from the commit that makes all of them due until
 * the queue is empty, that is, until the last result is committed.
 */
export async function prepare(bench, settings) {
  const bodies = Array.from({ length: BODIES }, (_, index) => emailBody(index));
  const privateKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
    type: 'pkcs8',
    format: 'pem',
  });
  const sink = await bench.startHelper('smtp-sink');
  const { port } = sink.started;
  const nodemailer = await bench.startHelper('nodemailer-pool', { port, privateKey });
  const raw = await bench.startHelper('raw-smtp', { port, privateKey, bodies });
  const relay = { DELIVERY_MODE: 'relay', RELAY_URL: `smtp://127.0.0.1:${port}` };
  const worker = await bench.startProduct('worker', relay);
  const inserts = new DirectInserts({ url: bench.databaseUrl, connections: 2, tenant: bench.tenant });
  const commands = inserts.parse(bodies);
  const postgres = { tree: bench.postgresPid };
  return {
    name: 'deliver',
    unit: 'mails',
    contenders: [
      {
        name: 'Nodemailer pool',
        run: (seconds) => nodemailer.call('run', { bodies, seconds }),
        processes: { script: nodemailer.pid, sink: sink.pid },
      },
      {
        name: 'sign and write',
        run: (seconds) => raw.call('run', { seconds }),
        processes: { script: raw.pid, sink: sink.pid },
      },
      {
        name: 'product',
        prepare: () => preload(inserts, commands, settings.messages),
        run: (_seconds, emails) => deliver({ bench, sink, inserts }, emails),
        processes: { worker: worker.pid, postgres, sink: sink.pid },
      },
    ],
    targets: { 'Nodemailer pool': 3, 'sign and write': 0.35 },
    memory: () => ({ worker: peakMemoryOf(worker.pid) }),
    finish: async () => {
      await inserts.close();
      for (const process of [worker, nodemailer, raw, sink]) await process.stop();
    },
  };
}

/** Stores accepted emails that are not in the queue yet. */
async function preload(inserts, commands, count) {
  const emails = inserts.toEmails(Array.from({ length: count }, (_, index) => commands[index % commands.length]));
  for (let at = 0; at < count; at += PRELOAD) await inserts.insert(emails.slice(at, at + PRELOAD), { enqueue: false });
  return emails;
}

async function deliver({ bench, sink, inserts }, emails) {
  await sink.call('reset');
  await inserts.enqueue(emails);
  const begin = performance.now();
  await bench.database.query(`select pg_notify('waybill_work', '')`);
  await sink.call('waitFor', { count: emails.length });
  await emptyQueue(bench.database);
  const seconds = (performance.now() - begin) / 1_000;
  await assertSent(bench, emails, await sink.call('count'));
  return { count: emails.length, seconds };
}

async function emptyQueue(database) {
  for (;;) {
    const {
      rows: [{ open }],
    } = await database.query('select exists (select from deliveries) as open');
    if (!open) return;
    await delay(2);
  }
}

/** A figure is only valid when no mail was lost, sent twice or left unrecorded. */
async function assertSent({ database }, emails, taken) {
  const {
    rows: [{ sent }],
  } = await database.query(`select count(*)::int as sent from emails where id = any($1::uuid[]) and status = 'sent'`, [
    emails.map((email) => email.id),
  ]);
  if (sent !== emails.length || taken !== emails.length) {
    throw new Error(`Of ${emails.length} mails ${sent} are recorded as sent, and the sink took ${taken}`);
  }
}
