// Old code still runs against it: every new column has a default or may be null. A domain that is slowed or paused is
// held back once every process that accepts or delivers mail is new.
import { ForwardOnlyMigration } from './forward-only';

const COLUMNS = `
  add column sending_status text not null default 'active' check (sending_status in ('active', 'slowed', 'paused')),
  add column sending_status_reason text check (sending_status_reason in ('bounces', 'complaints', 'operator')),
  -- The operator's own words.
  add column sending_status_note text,
  add column sending_status_since timestamptz,
  -- The last resumption: what happened before is not held against the domain again.
  add column sending_judged_since timestamptz,
  -- Of a slowed domain: since when it has been below the limits without a break.
  add column sending_below_since timestamptz,
  -- Recipients a UTC day while it is slowed.
  add column sending_daily_limit integer,
  add check (sending_status <> 'slowed' or sending_daily_limit is not null)`;

/** Owners: domains; stats. */
export class SendingStatus1700000000021 extends ForwardOnlyMigration {
  readonly name = 'SendingStatus1700000000021';

  protected readonly sql = `
    alter table domains ${COLUMNS};
    alter table removed_domains ${COLUMNS};
    create index domains_restricted on domains (organization_id, id) where sending_status <> 'active';
    -- Who has sent lately, whoever it is. No counter is in it, so that counting stays on the row's page.
    create index stats_hourly_live on stats_hourly (hour) where mode = 'live';
  `;
}
