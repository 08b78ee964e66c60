// Times the statements that read and remove emails, with 32 days of emails and with a year's: 13 partitions. See docs/scaling.md.
import { parseArgs } from 'node:util';
import { Bench } from './harness/bench.mjs';
import { load } from './harness/product.mjs';
import { median } from './harness/report.mjs';
import { say } from './harness/say.mjs';

const USAGE = `npm run bench:year -- [--emails N] [--months N] [--runs N]

  --emails  in each 32 days, by default 150,000; at least 50,000, as many as a search examines: 2 million in 13 months take about five minutes and 4 GB
  --months  before the newest 32 days, by default 12
  --runs    of each reading, by default 15
`;

const TARGET = 1.2;
const DAY_MS = 86_400_000;
/** Lists search a page in so many days first, and add up the newer ones each time: both sides have all of them. */
const NEWEST_MS = 32 * DAY_MS;
/** Of the subject whose erasure is timed; all in the newest days. */
const SUBJECT_EMAILS = 50;
const SUBJECT = 'ann@subject.example';

/** A time within the span, proportional to n. */
const AT = '$1::timestamptz + ((n - 1)::float8 / $2 * ($3::timestamptz - $1::timestamptz))';
const STATEMENTS = [
  `create temporary table made as
   select (left(uuid_v7_floor(${AT})::text, 14) || '7' || substr(gen_random_uuid()::text, 16))::uuid as id, ${AT} as at, n,
     case when $4 and n <= ${SUBJECT_EMAILS} then '${SUBJECT}' else 'r' || n || '@x.example' end as address
   from generate_series(1, $2::int) n`,
  `insert into emails (
     organization_id, mode, id, domain_id, status, from_email, subject, to_emails, category, track_opens, track_clicks,
     event_sequence, sent_at, delivered_at, created_at, updated_at
   )
   select $1, 'live', id, $2, 'delivered', 'a@bench.test', 'Subject ' || n, array[address], 'transactional', false, false, 3,
     at, at, at, at
   from made`,
  `insert into email_contents (organization_id, mode, email_id, text, addressees)
   select $1, 'live', id, 'Hello ' || address, '{"to": [], "cc": [], "replyTo": []}' from made where $2::uuid is not null`,
  `insert into email_recipients (organization_id, mode, email_id, position, kind, address, status, seen, attempts, updated_at)
   select $1, 'live', id, 0, 'to', address, 'delivered', 7, 1, at from made where $2::uuid is not null`,
  `insert into email_events (organization_id, mode, email_id, sequence, id, event_type, source, occurred_at, data)
   select $1, 'live', m.id, e.sequence, event_id(at, e.sequence), e.type, 'smtp', at, jsonb_build_object('recipient', address)
   from made m cross join unnest('{queued,sent,delivered}'::text[]) with ordinality e (type, sequence)
   where $2::uuid is not null`,
  `insert into stats_hourly (organization_id, mode, domain_id, hour, emails, accepted, sent, delivered)
   select $1, 'live', $2, date_trunc('hour', at, 'UTC'), count(*), count(*), count(*), count(*) from made group by 4
   on conflict (organization_id, mode, domain_id, hour) do update set emails = stats_hourly.emails + excluded.emails`,
];

const { values: options } = parseArgs({
  options: {
    emails: { type: 'string', default: '150000' },
    months: { type: 'string', default: '12' },
    runs: { type: 'string', default: '15' },
    help: { type: 'boolean', default: false },
  },
});
if (options.help) process.stdout.write(USAGE);
else await run();

async function run() {
  const [emails, months, runs] = [Number(options.emails), Number(options.months), Number(options.runs)];
  const bench = new Bench({ profile: undefined });
  try {
    await bench.open();
    const product = await open(bench);
    try {
      const now = new Date();
      const newest = { from: new Date(now.getTime() - NEWEST_MS), to: now };
      const oldest = monthSpan(now, -months - 1);
      // The removed month exists both times, so that the difference is not its size.
      for (const span of [newest, oldest]) await fill(bench, span, emails, now);
      const month = await timeAll(bench, product, { newest, oldest: oldest.from, runs });
      for (let ago = 1; ago <= months; ago += 1) {
        const { from, to } = monthSpan(now, -ago);
        await fill(bench, { from, to: to < newest.from ? to : newest.from }, emails, now);
      }
      await fill(bench, oldest, emails, now);
      const year = await timeAll(bench, product, { newest, oldest: oldest.from, runs });
      const { rows } = await bench.database.query(
        'select pg_size_pretty(pg_database_size(current_database())) as size',
      );
      const total = `${months + 1} months of ${emails} emails in 32 days (${rows[0].size}), beside 32 days`;
      process.stdout.write(`${(await bench.facts()).join('\n')}\n${total}\n\n${report(month, year)}\n`);
    } finally {
      await product.close();
    }
  } finally {
    await bench.close();
  }
}

function monthAt(now, later) {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + later, 1));
}

function monthSpan(now, later) {
  return { from: monthAt(now, later), to: monthAt(now, later + 1) };
}

/** The span's share of the emails of 32 days; those of the subject into the newest one. */
async function fill({ databaseUrl, tenant: { organizationId, domain } }, { from, to }, perNewest, now) {
  const emails = Math.round((perNewest * (to - from)) / NEWEST_MS);
  if (emails <= 0) return;
  say(`writing ${emails} emails from ${from.toISOString().slice(0, 10)}`);
  const { Client } = load('pg');
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    for (let month = monthAt(from, 0); month < to; month = monthAt(month, 1)) {
      for (const table of ['emails', 'email_contents', 'email_attachments', 'email_recipients', 'email_events']) {
        await client.query('select add_month_partition($1, $2::date, 0)', [table, month.toISOString().slice(0, 10)]);
      }
    }
    const [make, ...inserts] = STATEMENTS;
    await client.query(make, [from, emails, to, to.getTime() === now.getTime()]);
    for (const insert of inserts) await client.query(insert, [organizationId, domain.id]);
    await client.query('vacuum analyze');
  } finally {
    await client.end();
  }
}

/** The product's services on the database, without HTTP. */
async function open({ databaseUrl }) {
  const { loadConfig } = load('./config/load-config.js');
  const { createServices } = load('./cli/session/services.js');
  const config = loadConfig({ DATABASE_URL: databaseUrl, MASTER_KEY: Buffer.alloc(32, 1).toString('base64') });
  const services = await createServices(config, databaseUrl);
  const get = (file, name) => services.get(load(file)[name], { strict: false });
  return {
    database: get('./database/pool/database.service.js', 'Database'),
    emails: get('./modules/emails/emails.service.js', 'EmailsService'),
    stats: get('./modules/stats/stats-report.service.js', 'StatsReportService'),
    retention: get('./modules/emails/retention/retention.repository.js', 'RetentionRepository'),
    removal: get('./modules/emails/retention/partitions.service.js', 'PartitionRemovalService'),
    erasable: get('./modules/emails/privacy/subject-emails.repository.js', 'ErasableEmailsRepository'),
    eraser: get('./modules/emails/privacy/email-eraser.service.js', 'EmailEraser'),
    close: () => services.close(),
  };
}

/** The median of each, in milliseconds, by name. */
async function timeAll(bench, product, { newest, oldest, runs }) {
  await bench.checkpoint();
  say('timing');
  const times = new Map();
  const time = async (name, work, count = runs) => {
    const taken = [];
    for (let each = 0; each <= count; each += 1) {
      const begin = performance.now();
      await work();
      // The first run is for plans and caches.
      if (each > 0 || count === 1) taken.push(performance.now() - begin);
      if (count === 1) break;
    }
    times.set(name, median(taken));
  };
  for (const [name, work] of await readings(bench, product, newest)) await time(name, work);
  await time('retention: a month is removed', () => product.removal.remove(oldest), 1);
  return times;
}

async function readings(bench, { database, emails, stats, retention, erasable, eraser }, newest) {
  const { organizationId } = bench.tenant;
  const tenant = { organizationId, mode: 'live', domainId: undefined };
  const page = (number, filter = {}) => emails.list(tenant, filter, { page: number, limit: 20 });
  const { firstIdAt } = load('./common/ids.js');
  const { AddressFinder } = load('./common/erasure/address-finder.js');
  const subject = { organizationId, mode: 'live', keys: [SUBJECT], finder: new AddressFinder(SUBJECT) };
  const all = { after: firstIdAt(new Date(0)), lastId: firstIdAt(new Date(newest.to.getTime() + DAY_MS)) };
  const received = () => erasable.findReceived(subject, all, 100);
  const found = await received();
  if (found.length !== SUBJECT_EMAILS) throw new Error(`${found.length} emails of the subject`);
  const [{ emailId }] = found;
  const contents = {
    ...{ organizationId, mode: 'live', beforeId: all.lastId, endedBefore: new Date(0) },
    afterId: firstIdAt(newest.from),
  };
  const undone = new Error('undone');
  const erase = async () => {
    const named = found.map(({ emailId: id, position }) => ({ emailId: id, position, isShared: false }));
    await database
      .transaction(async (tx) => {
        await eraser.erase(subject, named, tx);
        throw undone;
      })
      .catch((error) => {
        if (error !== undone) throw error;
      });
  };
  return [
    ['list: page 1', () => page(1)],
    ['list: page 1,000', () => page(1_000)],
    ['list: by recipient', () => page(1, { recipient: SUBJECT })],
    ['list: by a status that none has', () => page(1, { status: 'failed' })],
    ['an email with its events', () => emails.detail(tenant, emailId)],
    ['statistics of 32 days', () => stats.totals(tenant, newest)],
    ['statistics by domain', () => stats.byDomain(tenant, newest)],
    ['statistics by hour', () => stats.byHour(tenant, newest)],
    ['retention: 500 contents examined', () => retention.deleteContents(contents, 500)],
    ['erasure: emails to the subject', received],
    [
      'erasure: 2,000 emails for their sender',
      () => erasable.findSenders(subject, all, { examined: 2_000, found: 100 }),
    ],
    [`erasure: ${SUBJECT_EMAILS} emails erased`, erase],
  ];
}

function report(month, year) {
  const lines = [...month].map(([name, before]) => {
    const after = year.get(name);
    const ratio = after / before;
    const mark = ratio > TARGET ? `  over ${TARGET}` : '';
    return `${name.padEnd(40)} ${before.toFixed(2).padStart(9)} ms ${after.toFixed(2).padStart(9)} ms ${ratio.toFixed(2).padStart(6)} ×${mark}`;
  });
  return [`${''.padEnd(40)}       32 days      a year`, ...lines].join('\n');
}
