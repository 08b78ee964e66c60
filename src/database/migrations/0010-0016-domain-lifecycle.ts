import { ForwardOnlyMigration } from './forward-only';

// Old code still runs against it: every new column has a default, and the check of `dkim_keys.state` only gets wider.
/** Owner: domains. */
export class DomainLifecycle1700000000010 extends ForwardOnlyMigration {
  readonly name = 'DomainLifecycle1700000000010';

  protected readonly sql = `
    alter table domains
      -- When a worker looks at its records next. A worker that takes it moves this ahead, which is its lease.
      add column next_check_at timestamptz not null default now(),
      add column last_checked_at timestamptz,
      -- Since when the ownership and the key record have been gone, without a break.
      add column verification_failing_since timestamptz,
      add column dkim_failing_since timestamptz,
      add column return_path_verified boolean not null default false,
      add column tracking_verified boolean not null default false,
      add column reputation_score smallint check (reputation_score between 0 and 100);
    create index domains_next_check on domains (next_check_at);

    -- pending: its record has not been seen in DNS yet, so that the older key still signs.
    alter table dkim_keys drop constraint dkim_keys_state_check;
    alter table dkim_keys add constraint dkim_keys_state_check check (state in ('pending', 'active', 'retiring'));
    -- expires_at: when a retiring key is no longer published; null for the others.
    create unique index dkim_keys_one_pending on dkim_keys (organization_id, domain_id) where state = 'pending';

    -- What the last look at each record of a domain found. The records themselves are computed.
    create table domain_checks (
      organization_id uuid not null,
      domain_id uuid not null,
      purpose text not null check (purpose in ('verification', 'dkim', 'spf', 'dmarc', 'return_path', 'tracking')),
      host text not null,
      -- unreachable: the DNS did not answer, so nothing is known; verified tells what was known before.
      result text not null check (result in ('verified', 'missing', 'wrong', 'unreachable')),
      verified boolean not null,
      -- A sentence for the person who edits the zone.
      problem text,
      checked_at timestamptz not null,
      primary key (organization_id, domain_id, purpose, host)
    );
  `;
}

// Old code still runs against it: it only adds a table.
/** Owner: audit. */
export class AuditLog1700000000011 extends ForwardOnlyMigration {
  readonly name = 'AuditLog1700000000011';

  protected readonly sql = `
    create table audit_log (
      organization_id uuid not null,
      -- Version 7: sorts by time.
      id uuid not null,
      occurred_at timestamptz not null,
      -- A key's id, 'operator' (the command line) or 'system' (a background job).
      actor text not null,
      -- Like domain.verified, dkim.rotated.
      action text not null,
      target_type text not null,
      target_id text not null,
      data jsonb not null default '{}',
      primary key (organization_id, id)
    );
    create function refuse_change() returns trigger language plpgsql as $$
      begin
        raise exception 'audit_log is append-only' using errcode = 'restrict_violation';
      end $$;
    create trigger audit_log_append_only before update on audit_log
      for each statement execute function refuse_change();
  `;
}

// Old code still runs against it: every new column may be null, and the table is new. The limits hold once every process
// that accepts mail is new.
/** Owner: domains. */
export class WarmUp1700000000012 extends ForwardOnlyMigration {
  readonly name = 'WarmUp1700000000012';

  protected readonly sql = `
    alter table domains
      -- The first live send; its UTC day is day 1.
      add column warming_started_at timestamptz,
      add column warming_paused_at timestamptz,
      add column warming_pause_reason text check (warming_pause_reason in ('bounces', 'complaints')),
      -- The last resumption: what happened before is not held against the domain again.
      add column warming_judged_since timestamptz;
    create index domains_warming on domains (organization_id, id) where warming_status in ('warming', 'paused');
    -- Whoever has been sending keeps sending: an upgrade is no new domain.
    update domains d set warming_status = 'warmed'
    where warming_status = 'not_started' and exists (
      select from stats_hourly s where s.organization_id = d.organization_id and s.mode = 'live' and s.domain_id = d.id
    );

    -- Recipients that a domain in its warm-up has used of a day, those being accepted at this moment included.
    create table warm_up_usage (
      organization_id uuid not null,
      domain_id uuid not null,
      -- UTC.
      day date not null,
      recipients integer not null check (recipients >= 0),
      -- What the last one who asked was told and given.
      daily_limit integer not null,
      last_grant integer not null,
      primary key (organization_id, domain_id, day)
    ) with (fillfactor = 50);
  `;
}

// Old code still runs against it: it only adds an index.
/** Owner: domains. */
export class PublishedKeys1700000000013 extends ForwardOnlyMigration {
  readonly name = 'PublishedKeys1700000000013';

  protected readonly sql = `
    -- The DNS responder is asked by domain: a name in a public zone tells nothing of organizations.
    create index dkim_keys_domain on dkim_keys (domain_id);
  `;
}

// Old code still runs against it: it only adds a column without a value.
/** Owner: domains. */
export class CheckPatience1700000000014 extends ForwardOnlyMigration {
  readonly name = 'CheckPatience1700000000014';

  protected readonly sql = `
    -- Since when a record that had been seen has been gone, without a break; null while it is there and when it never was.
    alter table domain_checks add column failing_since timestamptz;
  `;
}

// Old code still runs against it: it only adds an index.
/** Owner: domains. */
export class ExpiredDkimKeys1700000000015 extends ForwardOnlyMigration {
  readonly name = 'ExpiredDkimKeys1700000000015';

  protected readonly sql = `
    -- A job asks every few minutes which keys have had their time, among those of all domains.
    create index dkim_keys_retiring on dkim_keys (expires_at) where state = 'retiring';
  `;
}

// Old code still runs against it: it only adds a table.
/** Owner: domains. */
export class RemovedDomains1700000000016 extends ForwardOnlyMigration {
  readonly name = 'RemovedDomains1700000000016';

  protected readonly sql = `
    -- Removed domains that have sent live mail: one that is added again goes on where it was.
    create table removed_domains (
      organization_id uuid not null,
      domain text not null,
      id uuid not null,
      warming_status text not null,
      warming_started_at timestamptz,
      warming_paused_at timestamptz,
      warming_pause_reason text,
      warming_judged_since timestamptz,
      removed_at timestamptz not null,
      primary key (organization_id, domain)
    );
  `;
}
