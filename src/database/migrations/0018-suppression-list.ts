// Old code still runs against it: it adds a table, a function and indexes. Building them holds back writes meanwhile.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: suppressions. */
export class SuppressionList1700000000018 extends ForwardOnlyMigration {
  readonly name = 'SuppressionList1700000000018';

  protected readonly sql = `
    -- With the expiry, so that a total is counted in the index alone.
    create index suppressions_listing on suppressions (organization_id, mode, suppressed_at desc, id desc)
      include (expires_at);
    create index suppressions_by_reason on suppressions (organization_id, mode, reason, suppressed_at desc, id desc)
      include (expires_at);
    create index suppressions_expiry on suppressions (expires_at) where expires_at is not null;

    -- The last soft bounces of an address, as far as they may still count.
    create table soft_bounces (
      organization_id uuid not null,
      mode text not null,
      -- The normal form of common/mail-address: what is matched.
      address_key text not null,
      -- Oldest first.
      bounced_at timestamptz[] not null,
      last_bounced_at timestamptz not null,
      primary key (organization_id, mode, address_key)
    );
    create index soft_bounces_age on soft_bounces (last_bounced_at);

    -- The latest of the moments, oldest first: those at most window_length before the very last, and no more than most.
    create function latest_within(moments timestamptz[], window_length interval, most integer) returns timestamptz[]
    language sql immutable parallel safe
    as $$
      select array_agg(moment order by moment)
      from (
        select moment
        from unnest(moments) moment
        where moment >= (select max(latest) from unnest(moments) latest) - window_length
        order by moment desc
        limit most
      ) kept
    $$;
  `;
}
