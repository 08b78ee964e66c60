// Old code still runs against it: it only adds tables.
import { ForwardOnlyMigration } from './forward-only';

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
