// Times pages of GET /v1/emails over HTTP at a given size, beside page 1 and beside OFFSET. See docs/benchmarks.md.
import { parseArgs } from 'node:util';
import { Bench } from './harness/bench.mjs';
import { median } from './harness/report.mjs';
import { say } from './harness/say.mjs';

const USAGE = `npm run bench:lists -- [--emails N] [--runs N]

  --emails  of one organization in 30 days, by default 1,000,000
  --runs    requests for each page, by default 15
`;

const AT = "$1::timestamptz - (n::float8 / $2 * interval '30 days')";

const EMAILS = `
  insert into emails (
    organization_id, mode, id, domain_id, status, from_email, subject, to_emails, category, track_opens, track_clicks,
    event_sequence, created_at, updated_at
  )
  select $3, 'live', (left(uuid_v7_floor(${AT})::text, 14) || '7' || substr(gen_random_uuid()::text, 16))::uuid, $4,
    'delivered', 'a@bench.test', 'Subject ' || n, '{r@x.example}', 'transactional', false, false, 1, ${AT}, ${AT}
  from generate_series(1, $2) n`;

const COUNTS = `
  insert into stats_hourly (organization_id, mode, domain_id, hour, emails, accepted)
  select organization_id, mode, domain_id, date_trunc('hour', created_at, 'UTC'), count(*), count(*)
  from emails where organization_id = $1 group by 1, 2, 3, 4`;

const { values: options } = parseArgs({
  options: {
    emails: { type: 'string', default: '1000000' },
    runs: { type: 'string', default: '15' },
    help: { type: 'boolean', default: false },
  },
});
if (options.help) process.stdout.write(USAGE);
else await run();

async function run() {
  const [emails, runs] = [Number(options.emails), Number(options.runs)];
  const bench = new Bench({ profile: undefined });
  try {
    await bench.open();
    await fill(bench, emails);
    const api = await bench.startProduct('api');
    const list = listOf(api.port, bench.tenant.key);
    process.stdout.write(`${(await bench.facts()).join('\n')}\n${emails} emails in 30 days\n\n`);
    await compare(bench, list, { emails, runs });
  } finally {
    await bench.close();
  }
}

async function fill({ database, tenant: { organizationId, domain } }, emails) {
  say(`writing ${emails} emails`);
  await database.query("call create_month_partitions('emails', 0)");
  await database.query(EMAILS, [new Date(), emails, organizationId, domain.id]);
  await database.query(COUNTS, [organizationId]);
  await database.query('vacuum analyze');
}

/** Requests a page and returns its milliseconds and body. */
function listOf(port, key) {
  return async (query) => {
    const begin = performance.now();
    const response = await fetch(`http://127.0.0.1:${port}/v1/emails?${new URLSearchParams(query)}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const body = await response.json();
    if (response.status !== 200) throw new Error(JSON.stringify(body));
    return { ms: performance.now() - begin, body };
  };
}

async function compare({ database, tenant: { organizationId } }, list, { emails, runs }) {
  const last = Math.floor(emails / 20);
  const { body } = await list({ page: Math.min(5_000, last) });
  if (body.pagination.total !== emails) throw new Error(`total is ${body.pagination.total}`);
  const pages = [
    ['page 1', { page: 1 }],
    ['page 5,000', { page: Math.min(5_000, last) }],
    ['last page', { page: last }],
    ['behind a cursor', { cursor: body.pagination.nextCursor }],
    ['by status, none found', { status: 'failed' }],
  ];
  const times = await Promise.all(pages.map(() => []));
  for (let run = 0; run < runs; run += 1) {
    for (const [index, [, query]] of pages.entries()) times[index].push((await list(query)).ms);
  }
  const first = median(times[0]);
  for (const [index, [name]] of pages.entries()) {
    const ms = median(times[index]);
    process.stdout.write(`${name.padEnd(24)} ${ms.toFixed(2)} ms, ${(ms / first).toFixed(2)} × page 1\n`);
  }
  const OFFSET =
    "select id from emails where organization_id = $1 and mode = 'live' order by id desc limit 20 offset $2";
  const COUNT = "select count(*) from emails where organization_id = $1 and mode = 'live'";
  for (const [name, text, values] of [
    ['OFFSET of page 5,000', OFFSET, [organizationId, (Math.min(5_000, last) - 1) * 20]],
    ['OFFSET of the last page', OFFSET, [organizationId, (last - 1) * 20]],
    ['count(*)', COUNT, [organizationId]],
  ]) {
    const begin = performance.now();
    await database.query(text, values);
    process.stdout.write(`for comparison, ${name}: ${(performance.now() - begin).toFixed(0)} ms\n`);
  }
}
