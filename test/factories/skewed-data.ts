import type { Queryable } from './tenants';

/** An id with a given time, version 7. All are of this month's first day, so that they fall into one partition. */
const ID_AT = (moment: string) => `
  (left(uuid_v7_floor(${moment})::text, 14) || '7' || substr(gen_random_uuid()::text, 16))::uuid`;

const ORGANIZATIONS = `
  insert into organizations (id, name)
  select gen_random_uuid(), 'organization ' || n from generate_series(1, 200) n`;

/** Nine emails in ten belong to the first organization. */
const EMAILS = `
  create temporary table given as
  select o.id as organization_id, ${ID_AT(`date_trunc('month', now() at time zone 'UTC') at time zone 'UTC' + n * interval '1 second'`)} as id, n
  from generate_series(1, 50000) n
  join (select id, row_number() over (order by id) as place from organizations) o
    on o.place = case when n % 10 > 0 then 1 else 1 + n / 10 % 200 end;
  insert into emails (
    organization_id, mode, id, domain_id, status, from_email, subject, to_emails, category, track_opens, track_clicks,
    event_sequence, created_at, updated_at
  )
  select organization_id, 'live', id, organization_id, 'queued', 'a@x.example', 'Hi', '{r@x.example}', 'transactional',
    true, true, 1, now(), now()
  from given;
  insert into email_contents (organization_id, mode, email_id, text, addressees)
  select organization_id, 'live', id, 'Hello', '{"to": [], "cc": [], "replyTo": []}' from given;
  insert into email_recipients (organization_id, mode, email_id, position, kind, address, status, updated_at)
  select organization_id, 'live', id, 0, 'to', 'r' || n || '@x.example', 'queued', now() from given;
  insert into email_events (organization_id, mode, email_id, sequence, id, event_type, source, occurred_at, data)
  select organization_id, 'live', id, 1, gen_random_uuid(), 'queued', 'api', now(), '{}' from given`;

/** Of the deliveries, seven in ten are ready, two wait and one is claimed. */
const DELIVERIES = `
  insert into worker_sessions (id, host, process_id, lease_until)
  select gen_random_uuid(), 'host', n, now() + case when n > 1 then interval '1 hour' else interval '-1 hour' end
  from generate_series(1, 20) n;
  insert into deliveries (
    organization_id, mode, email_id, position, domain_id, recipient, destination, category, state, due_at, first_due_at,
    session_id, claim_token, attempt, claimed_at
  )
  select g.organization_id, 'live', g.id, 0, g.organization_id, 'r' || n || '@x.example',
    case when n % 3 > 0 then 'x.example' else 'd' || n % 90 || '.example' end, 'transactional',
    case when n % 10 < 7 then 'ready' when n % 10 < 9 then 'waiting' else 'claimed' end,
    now() + case when n % 10 between 7 and 8 then n * interval '1 second' else interval '0' end, now(),
    case when n % 10 = 9 then s.id end, 1, 1, now()
  from given g
  join (select id, row_number() over (order by lease_until) as place from worker_sessions) s on s.place = 1 + n / 10 % 20`;

const OTHERS = `
  insert into suppressions (organization_id, mode, address_key, reason, id, email, source)
  select organization_id, 'live', 's' || n || '@x.example', 'manual', gen_random_uuid(), 's' || n || '@x.example', 'api'
  from given where n <= 20000;
  insert into api_keys (organization_id, id, name, mode, scopes, prefix, hash)
  select organization_id, gen_random_uuid(), 'key', 'live', '{}', 'wb_live_', sha256(n::text::bytea)
  from given where n <= 20000;
  insert into idempotency_keys (organization_id, mode, path, key, fingerprint, response, created_at)
  select organization_id, 'live', '/v1/emails', 'key ' || n, '', '{}', now() - n * interval '1 second'
  from given where n <= 20000`;

/** A busy installation: 50,000 emails with open deliveries, most of them of one organization. */
export async function loadSkewedData(db: Queryable): Promise<void> {
  for (const step of [ORGANIZATIONS, EMAILS, DELIVERIES, OTHERS]) await db.query(step);
}
