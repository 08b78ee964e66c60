// Old code still runs against it: every new column may be null, and the table is new. The limits hold once every process
// that accepts mail is new.
import { ForwardOnlyMigration } from './forward-only';

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
