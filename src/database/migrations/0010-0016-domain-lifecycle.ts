// Old code still runs against it: every new column has a default, and the check of `dkim_keys.state` only gets wider.
import { ForwardOnlyMigration } from './forward-only';

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
