import { spawn } from 'node:child_process';
import path from 'node:path';
import { DIST } from '../../bench/harness/product.mjs';

const PAGE = 100;
const HOUR_MS = 3_600_000;
/** The events to which the tenants' webhooks are subscribed. */
export const WEBHOOK_EVENTS = ['delivered', 'bounced', 'failed'];

const RECIPIENTS = 'select address, status from email_recipients';
const OPEN = `select recipient, state, attempt, crashes, due_at, claimed_at from deliveries`;
const EVENTS = `
  select organization_id as "organizationId", id, event_type as type from email_events where event_type = any($1)`;
// Exactly one `queued` for an email, exactly one end for each of its recipients: an end that came twice is a duplicate.
const WRONG_EVENTS = `
  select e.id, e.status,
    count(*) filter (where v.event_type = 'queued') as queued,
    count(distinct v.data->>'recipient') filter (where v.event_type = any($1)) as ended,
    (select count(*) from email_recipients r
     where (r.organization_id, r.mode, r.email_id) = (e.organization_id, e.mode, e.id)) as recipients
  from emails e
  left join email_events v on (v.organization_id, v.mode, v.email_id) = (e.organization_id, e.mode, e.id)
  group by e.organization_id, e.mode, e.id, e.status
  having count(*) filter (where v.event_type = 'queued') <> 1
    or count(distinct v.data->>'recipient') filter (where v.event_type = any($1))
      <> (select count(*) from email_recipients r
          where (r.organization_id, r.mode, r.email_id) = (e.organization_id, e.mode, e.id))`;

/** The service's data about the mail at the end: in its database, over its API, and by its own check. */
export async function viewService({ database, client, tenants, environment }) {
  const numberOf = new Map(tenants.map(({ organizationId }, index) => [organizationId, index]));
  const recipients = await database.rows(RECIPIENTS);
  const events = await database.rows(EVENTS, [WEBHOOK_EVENTS]);
  return {
    recipients: new Map(recipients.map(({ address, status }) => [address, status])),
    open: await database.rows(OPEN),
    events: events.map(({ organizationId, id, type }) => ({ tenant: numberOf.get(organizationId), id, type })),
    wrongEvents: await database.rows(WRONG_EVENTS, [WEBHOOK_EVENTS]),
    statuses: await listStatuses(client, tenants),
    statistics: await verifyStatistics(environment),
    statementErrors: await database.statementErrors(),
  };
}

/** The status of every email, page by page as a customer reads them. */
async function listStatuses(client, tenants) {
  const statuses = new Map();
  for (const tenant of tenants.keys()) {
    for (let cursor = ''; cursor !== undefined;) {
      const page = await client.call('GET', `/v1/emails?limit=${PAGE}${cursor && `&cursor=${cursor}`}`, tenant);
      if (page.status !== 200) throw new Error(`The list of emails: ${page.status} ${JSON.stringify(page.body)}`);
      for (const { id, status } of page.body.data) statuses.set(id, status);
      cursor = page.body.pagination.nextCursor ?? undefined;
    }
  }
  return statuses;
}

/** `waybill stats verify`: how many hourly counters differ from the events, of how many. */
async function verifyStatistics(environment) {
  const hour = (ms) => new Date(Math.floor(ms / HOUR_MS) * HOUR_MS).toISOString();
  const range = ['--from', hour(Date.now() - HOUR_MS), '--to', hour(Date.now() + HOUR_MS)];
  const args = [path.join(DIST, 'cli/main.js'), 'stats', 'verify', ...range, '--json'];
  const child = spawn(process.execPath, args, { env: environment, stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  for await (const chunk of child.stdout) text += chunk;
  const { drift, unsettled, compared } = JSON.parse(text);
  return { drift: drift + unsettled, compared };
}
