// Old code still runs against it: it only adds tables.
import { ForwardOnlyMigration } from './forward-only';

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
