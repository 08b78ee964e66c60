import { ForwardOnlyMigration } from './forward-only';

// Old code still runs against it: it only adds functions.
/**
 * Tables that grow with time are partitioned by month through the range of their UUID version 7 ids (RFC 9562: the
 * first 48 bits are milliseconds since the epoch), so that a look-up by id touches one partition and retention drops one.
 */
export class UuidV7Partitions1700000000001 extends ForwardOnlyMigration {
  readonly name = 'UuidV7Partitions1700000000001';

  protected readonly sql = `
    create function uuid_v7_floor(moment timestamptz) returns uuid
    language sql stable strict parallel safe
    as $$
      select (lpad(to_hex((extract(epoch from moment) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid
    $$;

    create procedure create_month_partitions(parent text, months_ahead integer)
    language plpgsql
    as $$
    declare
      -- In UTC and without a zone: a month added to a timestamptz would be one of the session's time zone.
      month timestamp;
      partition text;
    begin
      perform pg_advisory_xact_lock(hashtext('create_month_partitions'));
      for step in 0..months_ahead loop
        month := date_trunc('month', now() at time zone 'UTC') + make_interval(months => step);
        partition := parent || '_' || to_char(month, 'YYYY_MM');
        continue when to_regclass(partition) is not null;
        execute format('create table %I partition of %I for values from (%L) to (%L) with (fillfactor = %s)',
          partition, parent, uuid_v7_floor(month at time zone 'UTC'),
          uuid_v7_floor((month + interval '1 month') at time zone 'UTC'),
          -- These rows change twice soon after they were written. With room for that on their page no index grows (HOT):
          -- a sixth less work for the database in deliveries, and as much space as it takes.
          case when parent in ('emails', 'email_recipients') then 60 else 100 end);
      end loop;
    end
    $$;
  `;
}

// Old code still runs against it: it only adds tables.
/** Owner: auth. */
export class OrganizationsAndKeys1700000000002 extends ForwardOnlyMigration {
  readonly name = 'OrganizationsAndKeys1700000000002';

  protected readonly sql = `
    create table organizations (
      id uuid primary key,
      -- Short number for tokens that must fit an address's local part (64 octets).
      ordinal integer generated always as identity unique,
      name text not null,
      status text not null default 'active' check (status in ('active', 'suspended')),
      track_opens boolean not null default true,
      track_clicks boolean not null default true,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now()
    );

    create table api_keys (
      organization_id uuid not null,
      id uuid not null,
      name text not null,
      mode text not null check (mode in ('live', 'test')),
      scopes text[] not null,
      -- What a list shows, so that people can tell keys apart.
      prefix text not null,
      -- SHA-256 of the key; the key itself is never stored.
      hash bytea not null,
      domain_id uuid,
      expires_at timestamptz,
      last_used_at timestamptz,
      revoked_at timestamptz,
      created_at timestamptz not null default now(),
      primary key (organization_id, id)
    );
    create unique index api_keys_hash on api_keys (hash);
  `;
}

// Old code still runs against it: it only adds tables.
/** Owner: domains. */
export class Domains1700000000003 extends ForwardOnlyMigration {
  readonly name = 'Domains1700000000003';

  protected readonly sql = `
    create table domains (
      organization_id uuid not null,
      id uuid not null,
      domain text not null,
      subdomain text,
      verification_status text not null default 'pending' check (verification_status in ('pending', 'verified', 'failed')),
      verification_token text not null,
      verified_at timestamptz,
      dkim_selector text,
      dkim_status text check (dkim_status in ('pending', 'verified', 'failed')),
      warming_status text not null default 'not_started'
        check (warming_status in ('not_started', 'warming', 'warmed', 'paused')),
      is_default boolean not null default false,
      created_at timestamptz not null default now(),
      updated_at timestamptz not null default now(),
      primary key (organization_id, id)
    );
    create unique index domains_name on domains (organization_id, domain);
    create unique index domains_one_default on domains (organization_id) where is_default;
    -- A name can be verified by one organization only.
    create unique index domains_verified_name on domains (domain) where verification_status = 'verified';

    create table dkim_keys (
      organization_id uuid not null,
      domain_id uuid not null,
      selector text not null,
      -- AES-256-GCM under the master key; additional data: organization, domain, selector.
      private_key_sealed bytea not null,
      -- Base64 of the DER public key: the p= of the DNS record.
      public_key text not null,
      state text not null default 'active' check (state in ('active', 'retiring')),
      created_at timestamptz not null default now(),
      expires_at timestamptz,
      primary key (organization_id, domain_id, selector)
    );
    create unique index dkim_keys_one_active on dkim_keys (organization_id, domain_id) where state = 'active';
  `;
}
