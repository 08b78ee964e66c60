// Times the statistics at a given size, compared with counting the same from the events. See docs/benchmarks.md.
import { parseArgs } from 'node:util';
import { Bench } from './harness/bench.mjs';
import { load } from './harness/product.mjs';
import { median } from './harness/report.mjs';
import { say } from './harness/say.mjs';

const HOUR = 3_600_000;
const DAYS = 30;
const USAGE = `npm run bench:stats -- [--domains N] [--events N] [--runs N] [--plans]

  --domains  sender domains, each with ${DAYS} days of hourly counters, by default 50
  --events   delivered events to count instead, by default 300,000
  --runs     runs of each query, by default 9
  --plans    show the plans too
`;

/** A time within the period, proportional to n. */
const AT = "$1::timestamptz - (n::float8 / $2 * interval '30 days')";
const ID_AT = `(left(uuid_v7_floor(${AT})::text, 14) || '7' || substr(gen_random_uuid()::text, 16))::uuid`;

const HOURLY = `
  insert into stats_hourly (organization_id, mode, domain_id, hour, emails, accepted, sent, delivered)
  select $3, 'live', d.id, date_trunc('hour', $1::timestamptz, 'UTC') - h * interval '1 hour', $2, $2, $2, $2
  from unnest($4::uuid[]) d (id) cross join generate_series(0, ${DAYS * 24 - 1}) h`;

const EMAILS = `
  insert into emails (
    organization_id, mode, id, domain_id, status, from_email, subject, to_emails, category, track_opens, track_clicks,
    event_sequence, created_at, updated_at
  )
  select $3, 'live', ${ID_AT}, ($4::uuid[])[1 + n % $5], 'delivered', 'a@bench.test', 'Hi', '{r@x.example}', 'transactional',
    false, false, 1, ${AT}, ${AT}
  from generate_series(1, $2) n`;

const EVENTS = `
  insert into email_events (organization_id, mode, email_id, sequence, id, event_type, source, occurred_at, data)
  select organization_id, mode, id, 1, event_id(created_at, 0), 'delivered', 'smtp', created_at, '{"recipient": "r@x.example"}'
  from emails where organization_id = $1`;

/** The same query without counters. */
const count = (key, condition = 'true') => ({
  name: '',
  text: `
    select ${key}, count(*) from email_events e join emails m using (organization_id, mode)
    where organization_id = $1 and mode = 'live' and m.id = e.email_id and e.id >= uuid_v7_floor($2) and e.event_type = 'delivered' and ${condition}
    group by 1`,
});

const { values: options } = parseArgs({
  options: {
    domains: { type: 'string', default: '50' },
    events: { type: 'string', default: '300000' },
    runs: { type: 'string', default: '9' },
    plans: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (options.help) process.stdout.write(USAGE);
else await run();

async function run() {
  const [domains, events, runs] = [options.domains, options.events, options.runs].map(Number);
  const bench = new Bench({ profile: undefined });
  try {
    await bench.open();
    const facts = await fill(bench, domains, events);
    process.stdout.write(
      `${(await bench.facts()).join('\n')}\n${domains} domains, ${events} events in ${DAYS} days\n\n`,
    );
    for (const query of queriesOf(facts)) process.stdout.write(`${await timed(bench.database, query, runs)}\n`);
  } finally {
    await bench.close();
  }
}

async function fill({ database, tenant: { organizationId, domain } }, domains, events) {
  say(`writing ${domains * DAYS * 24} hours and ${events} events`);
  const now = new Date();
  const { rows } = await database.query('select gen_random_uuid() as id from generate_series(2, $1)', [domains]);
  const ids = [domain.id, ...rows.map(({ id }) => id)];
  await database.query(HOURLY, [now, Math.ceil(events / domains / DAYS / 24), organizationId, ids]);
  await database.query(EMAILS, [now, events, organizationId, ids, domains]);
  await database.query(EVENTS, [organizationId]);
  await database.query('vacuum analyze');
  return { organizationId, domainId: domain.id, now };
}

/** Each statement, with the one that reads events instead. */
function queriesOf({ organizationId, domainId, now }) {
  const { sumPeriod, sumByDomain, sumByHour } = load('./modules/stats/sql/sum-period.sql.js');
  const to = new Date(Math.ceil(now.getTime() / HOUR) * HOUR);
  const last = (days) => ({ from: new Date(to.getTime() - days * 24 * HOUR), to });
  const all = { organizationId, mode: 'live', domainId: undefined };
  const scan = (key, days, condition) => ({ ...count(key, condition), values: [organizationId, last(days).from] });
  const ofDomain = `m.domain_id = '${domainId}'`;
  return [
    { name: 'stats, 30 days', product: sumPeriod(all, last(DAYS)), events: scan('1', DAYS) },
    {
      name: 'stats of a domain',
      product: sumPeriod({ ...all, domainId }, last(DAYS)),
      events: scan('1', DAYS, ofDomain),
    },
    { name: 'domains, 30 days', product: sumByDomain(all, last(DAYS)), events: scan('m.domain_id', DAYS) },
    { name: 'hourly, 7 days', product: sumByHour(all, last(7)), events: scan("date_trunc('hour', e.occurred_at)", 7) },
  ];
}

async function timed(database, { name, product, events }, runs) {
  const [fast, slow] = [await medianMs(database, product, runs), await medianMs(database, events, Math.min(runs, 3))];
  const line = `${name.padEnd(20)} ${fast.toFixed(2)} ms, from events ${slow.toFixed(1)} ms: ${(slow / fast).toFixed(0)} ×`;
  return options.plans ? `${line}\n${await planOf(database, product)}\n` : line;
}

async function medianMs(database, { text, values }, runs) {
  const times = [];
  for (let run = 0; run < runs; run += 1) {
    const begin = performance.now();
    await database.query(text, values);
    times.push(performance.now() - begin);
  }
  return median(times);
}

async function planOf(database, { text, values }) {
  const { rows } = await database.query(`explain (analyze, buffers) ${text}`, values);
  return rows.map((row) => `  ${row['QUERY PLAN']}`).join('\n');
}
