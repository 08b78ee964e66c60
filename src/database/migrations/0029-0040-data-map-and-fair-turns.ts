import { ACCOUNTS, COUNTERS } from './data-map/accounts';
import { commentOn, OWNER } from './data-map/comment-on';
import { MAIL_COMMENTS } from './data-map/mail';
import { RECEIVING } from './data-map/receiving';
import { ForwardOnlyMigration } from './forward-only';

// Old code still runs against it: it only adds comments.
/** What every column holds of people, what for and for how long: docs/data-map.md is made of it. */
export class DataMap1700000000029 extends ForwardOnlyMigration {
  readonly name = 'DataMap1700000000029';

  protected readonly sql = [ACCOUNTS, MAIL_COMMENTS, RECEIVING, COUNTERS].join('');
}

// Old code still runs against it: it only adds a function.
/** Owner: suppressions. */
export class RefuseListed1700000000030 extends ForwardOnlyMigration {
  readonly name = 'RefuseListed1700000000030';

  protected readonly sql = `
    create function refuse_listed(listed boolean) returns void language plpgsql stable as $$
      begin
        if listed then
          raise exception 'harmless: a recipient may be suppressed, the batch is screened and written again'
            using errcode = 'WB001';
        end if;
      end $$;
  `;
}

// Old code still runs against it: it only adds a table.
/** Owner: database. */
export class JobLeases1700000000031 extends ForwardOnlyMigration {
  readonly name = 'JobLeases1700000000031';

  protected readonly sql = `
    create table job_leases (
      job text primary key,
      holder uuid not null,
      held_until timestamptz not null
    );
    ${commentOn('job_leases', 'a minute', {
      job: 'none: the background job',
      holder: 'none: the process that runs it',
      held_until: 'none: when another process may take over',
    })}
  `;
}

const EXCUSED = {
  excused: 'none: bounces that say nothing of the sender, such as a listed address of this service',
} as const;

// Old code still runs against it: it only adds columns with a default, which rewrites no row.
/** Owner: stats. */
export class ExcusedBounces1700000000032 extends ForwardOnlyMigration {
  readonly name = 'ExcusedBounces1700000000032';

  protected readonly sql = `
    alter table stats_hourly add column excused bigint not null default 0;
    alter table stats_deltas add column excused integer not null default 0;
    ${commentOn('stats_hourly', 'as long as the organization: counters of nobody in particular', EXCUSED)}
    ${commentOn('stats_deltas', 'seconds, until they are folded into stats_hourly', EXCUSED)}
  `;
}

// Old code still runs against it: it only adds a table.
/** Owner: suppressions. */
export class MissingDomains1700000000033 extends ForwardOnlyMigration {
  readonly name = 'MissingDomains1700000000033';

  protected readonly sql = `
    -- Recipients whose domain the DNS did not know when a mail to them was tried; two such days suppress the address.
    create table missing_domains (
      organization_id uuid not null,
      mode text not null check (mode in ('live', 'test')),
      -- The normal form of the address.
      address_key text not null,
      -- Days in UTC, by the clock of the database.
      first_seen_on date not null,
      last_seen_on date not null,
      primary key (organization_id, mode, address_key)
    );
    create index missing_domains_age on missing_domains (last_seen_on);
    ${commentOn('missing_domains', '30 days', {
      ...OWNER,
      address_key: 'address: the recipient',
      first_seen_on: 'none: when its domain was missing first (UTC)',
      last_seen_on: 'none: when it was missing last (UTC)',
    })}
  `;
}

// Old code still runs against it, and claims more slowly while queues are deep. The indexes are built while writes to the
// queue wait: a second for a million open deliveries.
/** Owners: auth (organizations), delivery. */
export class FairTurns1700000000034 extends ForwardOnlyMigration {
  readonly name = 'FairTurns1700000000034';

  protected readonly sql = `
    -- An organization's share of the deliveries among those with ready mail.
    alter table organizations add column weight integer not null default 1 check (weight between 1 and 100);
    create index organizations_weighted on organizations (id) where weight <> 1;
    ${commentOn('organizations', 'as long as the organization', { weight: 'none: its share of the deliveries' })}

    -- With the category: transactional mail goes before bulk.
    drop index deliveries_ready;
    create index deliveries_ready on deliveries (organization_id, destination, category, due_at, email_id, position)
      where state = 'ready';
    -- What outlives its time without a turn is found by when it began and by when it is to end.
    create index deliveries_first_due on deliveries (first_due_at) where state in ('waiting', 'ready');
    create index deliveries_expiring on deliveries (expires_at)
      where state in ('waiting', 'ready') and expires_at is not null;
  `;
}

// Old code still runs against it: it only adds an index.
/** Owner: delivery. */
export class SuspectDeliveries1700000000035 extends ForwardOnlyMigration {
  readonly name = 'SuspectDeliveries1700000000035';

  protected readonly sql = `
    -- Deliveries that two workers died with (SUSPECT_CRASHES); almost always empty.
    create index deliveries_suspect on deliveries (due_at, email_id, position) where state = 'waiting' and crashes >= 2;
  `;
}

// Old code still runs against it: it only adds a table.
/** Owner: delivery. */
export class QueueMeasures1700000000036 extends ForwardOnlyMigration {
  readonly name = 'QueueMeasures1700000000036';

  protected readonly sql = `
    -- One row: the last count of the queue, shared by all processes.
    create table queue_measures (
      id smallint primary key check (id = 1),
      ready integer not null,
      waiting integer not null,
      claimed integer not null,
      oldest_ready_at timestamptz,
      measured_at timestamptz not null,
      -- How long the count took: a large queue is counted less often.
      took interval not null,
      -- When a process began to count.
      begun_at timestamptz not null
    );
    insert into queue_measures values (1, 0, 0, 0, null, '-infinity', '0', '-infinity');
    ${commentOn('queue_measures', 'until the next count', {
      id: 'none: the one row',
      ready: 'none: deliveries that can start',
      waiting: 'none: deliveries for later',
      claimed: 'none: deliveries under way',
      oldest_ready_at: 'none: when the oldest that can start was due',
      measured_at: 'none: when it was counted',
      took: 'none: how long counting took',
      begun_at: 'none: when counting began',
    })}
  `;
}

// Old code still runs against it, and takes up reports more slowly while many wait. The indexes are built while writes to
// these tables wait: they hold open rows only, and one entry for each domain.
/** Owners: inbound, privacy, domains. Background work takes turns among organizations: each is looked for by its id. */
export class BackgroundTurns1700000000037 extends ForwardOnlyMigration {
  readonly name = 'BackgroundTurns1700000000037';

  protected readonly sql = `
    drop index inbound_reports_open;
    create index inbound_reports_open on inbound_reports (organization_id, id) where processed_at is null;

    -- Due since: of one that was put off, when its time comes; of one that is new, when it was made.
    create index privacy_requests_due
      on privacy_requests (type, organization_id, (coalesce(lease_until, requested_at)), id)
      where status in ('pending', 'processing');
    create index privacy_requests_leased on privacy_requests (organization_id, type) where lease_token is not null;

    -- By the first, whose turn it is; by the second, which of its domains.
    drop index domains_next_check;
    create index domains_next_check on domains (next_check_at, organization_id);
    create index domains_next_check_of on domains (organization_id, next_check_at);
  `;
}

// Old code still runs against it: it only adds a column that may be null.
/** Owner: mailbox. */
export class MailboxOwners1700000000038 extends ForwardOnlyMigration {
  readonly name = 'MailboxOwners1700000000038';

  protected readonly sql = `
    -- Whose mail it is, so that an erasure of one organization leaves the copies of others.
    alter table mailbox_messages add column organization_id uuid;
    ${commentOn('mailbox_messages', 'local mode only: the newest 1,000', {
      organization_id: 'none: whose mail it is; nobody of ours when there is none',
    })}
  `;
}

// Old code still runs against it. The index is built while writes to webhook messages wait: a second for a million messages
// of the last 30 days.
/** Owner: webhooks. */
export class WebhooksDue1700000000039 extends ForwardOnlyMigration {
  readonly name = 'WebhooksDue1700000000039';

  protected readonly sql = `
    -- With the id: what became due in one moment, thousands after a replay, is not sorted again by every claim.
    drop index webhook_messages_due;
    create index webhook_messages_due on webhook_messages (organization_id, mode, endpoint_id, next_attempt_at, id)
      where state = 'pending';
  `;
}

// Old code still runs against it: it only adds columns, which old workers leave as they were when their session began.
/** Owner: delivery. */
export class WatchedSessions1700000000040 extends ForwardOnlyMigration {
  readonly name = 'WatchedSessions1700000000040';

  // The table has a row for each worker.
  protected readonly sql = `
    alter table worker_sessions
      add column renewed_at timestamptz not null default now(),
      add column watched_since timestamptz not null default now();
    ${commentOn('worker_sessions', 'minutes after the process has ended', {
      renewed_at: 'none: when it was last known to live',
      watched_since: 'none: since when the database has answered one worker or another',
    })}
  `;
}
