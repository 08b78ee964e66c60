// Times what reads and removes emails beside a month's of them and beside a year's: 13 partitions. See docs/scaling.md.
import { parseArgs } from 'node:util';
import { Bench } from './harness/bench.mjs';
import pg from 'pg';
import { administrator } from './harness/statements.mjs';
import { load } from './harness/product.mjs';
import { median } from './harness/report.mjs';
import { say } from './harness/say.mjs';

const USAGE = `npm run bench:year -- [--emails N] [--months N] [--runs N]

  --emails  in each month, by default 150,000: 2 million in 13 months take about five minutes and 4 GB
  --months  beside the current one, by default 12
  --runs    of each reading, by default 15
`;

const TARGET = 1.2;
/** Of the subject whose erasure is timed; all in the current month. */
const SUBJECT_EMAILS = 50;
const SUBJECT = 'ann@subject.example';

/** A time within the month, proportional to n. */
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
   on conflict (organization_id, mode, domain_id, hour) do update set emails = excluded.emails`,
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
  const bench = new Bench({ profile: 'plans' });
  try {
    await bench.open();
    globalThis.admin = administrator(bench.databaseUrl);
    for (const sql of ['create extension if not exists pg_stat_statements', 'alter system set pg_stat_statements.track_planning = on', 'select pg_reload_conf()']) await admin.query(sql);
    const product = await open(bench);
    try {
      const now = new Date();
      const oldest = monthAt(now, -months - 1);
      // The month that is removed is there both times, so that its size is not what differs.
      for (const month of [monthAt(now, 0), oldest]) await fill(bench, month, emails, now);
      const month = await timeAll(bench, product, { now, oldest, runs });
      for (let ago = 1; ago <= months; ago += 1) await fill(bench, monthAt(now, -ago), emails, now);
      await fill(bench, oldest, emails, now);
      const year = await timeAll(bench, product, { now, oldest, runs });
      const { rows } = await bench.database.query(
        'select pg_size_pretty(pg_database_size(current_database())) as size',
      );
      const total = `${emails * (months + 1)} emails in ${months + 1} partitions (${rows[0].size}), beside ${emails} in one`;
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

/** The current month up to now; the others as a whole. */
async function fill({ databaseUrl, tenant: { organizationId, domain } }, month, emails, now) {
  say(`writing ${emails} emails of ${month.toISOString().slice(0, 7)}`);
  const end = new Date(Math.min(now.getTime(), monthAt(month, 1).getTime()));
  const { Client } = load('pg');
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    for (const table of ['emails', 'email_contents', 'email_attachments', 'email_recipients', 'email_events']) {
      await client.query('select add_month_partition($1, $2::date, 0)', [table, month.toISOString().slice(0, 10)]);
    }
    const [make, ...inserts] = STATEMENTS;
    await client.query(make, [month, emails, end, end.getTime() === now.getTime()]);
    for (const insert of inserts) await client.query(insert, [organizationId, domain.id]);
    await client.query('vacuum analyze');
  } finally {
    await client.end();
  }
}

/** The product's services on the database, without HTTP. */
async function open({ databaseUrl }) {
  const { loadConfig } = load('./config/load-config.js');
  const { createServices } = load('./cli/session/cli-session.js');
  const config = loadConfig({ DATABASE_URL: databaseUrl, MASTER_KEY: Buffer.alloc(32, 1).toString('base64') });
  const services = await createServices(config, databaseUrl);
  const get = (file, name) => services.get(load(file)[name], { strict: false });
  return {
    database: get('./database/database.service.js', 'Database'),
    emails: get('./modules/emails/emails.service.js', 'EmailsService'),
    stats: get('./modules/stats/stats-report.service.js', 'StatsReportService'),
    retention: get('./modules/emails/retention/retention.repository.js', 'RetentionRepository'),
    removal: get('./modules/emails/retention/partition-removal.service.js', 'PartitionRemovalService'),
    erasable: get('./modules/emails/privacy/erasable-emails.repository.js', 'ErasableEmailsRepository'),
    eraser: get('./modules/emails/privacy/email-eraser.service.js', 'EmailEraser'),
    close: () => services.close(),
  };
}

/** The median of each, in milliseconds, by name. */
async function timeAll(bench, product, { now, oldest, runs }) {
  await bench.checkpoint();
  say('timing');
  const times = new Map();
  const time = async (name, work, count = runs) => {
    const taken = [];
    await admin.query('select pg_stat_statements_reset()').catch(() => undefined);
    for (let each = 0; each <= count; each += 1) {
      const begin = performance.now();
      await work();
      // The first run is for plans and caches.
      if (each > 0 || count === 1) taken.push(performance.now() - begin);
      if (count === 1) break;
    }
    times.set(name, median(taken));
    const { rows } = await admin.query(`select left(regexp_replace(query, '\\s+', ' ', 'g'), 60) as query, calls::int, plans::int, round(total_plan_time::numeric / greatest(plans,1), 3) as plan, round(mean_exec_time::numeric,3) as exec, (shared_blks_hit / greatest(calls,1))::int as hit, (shared_blks_read / greatest(calls,1))::int as read from pg_stat_statements where query !~* '^(begin|commit|rollback|set|select pg_stat)' order by total_exec_time + total_plan_time desc limit 9`);
    process.stdout.write(`## ${name} ${median(taken).toFixed(2)} ms\n` + rows.map((r) => `   ${r.calls}x plans ${r.plans} plan ${r.plan} exec ${r.exec} hit ${r.hit} read ${r.read}  ${r.query}`).join('\n') + '\n');
  };
  for (const [name, work] of await readings(bench, product, now)) await time(name, work);
  await time('retention: a month is removed', () => product.removal.remove(oldest), 1);
  return times;
}

async function readings(bench, { database, emails, stats, retention, erasable, eraser }, now) {
  const { organizationId } = bench.tenant;
  const tenant = { organizationId, mode: 'live', domainId: undefined };
  const month = { from: monthAt(now, 0), to: now };
  const page = (number, filter = {}) => emails.list(tenant, filter, { page: number, limit: 20 });
  const { firstIdAt } = load('./common/ids.js');
  const { AddressFinder } = load('./common/erasure/address-finder.js');
  const subject = { organizationId, mode: 'live', keys: [SUBJECT], finder: new AddressFinder(SUBJECT) };
  const all = { after: firstIdAt(new Date(0)), lastId: firstIdAt(new Date(now.getTime() + 86_400_000)) };
  const received = () => erasable.findReceived(subject, all, 100);
  const found = await received();
  if (found.length !== SUBJECT_EMAILS) throw new Error(`${found.length} emails of the subject`);
  const [{ emailId }] = found;
  const contents = {
    ...{ organizationId, mode: 'live', beforeId: all.lastId, endedBefore: new Date(0) },
    afterId: firstIdAt(monthAt(now, 0)),
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
    ['statistics of the month', () => stats.totals(tenant, month)],
    ['statistics by domain', () => stats.byDomain(tenant, month)],
    ['statistics by hour', () => stats.byHour(tenant, month)],
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
  return [`${''.padEnd(40)}     one month      a year`, ...lines].join('\n');
}
