import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

// Old code still runs against it: it only adds a table.
/** Owner: delivery. */
export class BlockListChecks1700000000059 extends ForwardOnlyMigration {
  readonly name = 'BlockListChecks1700000000059';

  protected readonly sql = `
    -- What block lists said last of the addresses that mail leaves from.
    create table block_list_checks (
      address text not null,
      list text not null,
      state text not null check (state in ('listed', 'clear', 'unknown')),
      reply text not null,
      since timestamptz not null default now(),
      checked_at timestamptz not null default now(),
      primary key (address, list)
    );
    ${commentOn('block_list_checks', 'until the next look', {
      address: "none: one of the installation's own addresses",
      list: 'none: the block list',
      state: 'none: what it says',
      reply: 'none: its reply in words',
      since: 'none: since when it says so',
      checked_at: 'none: when it was asked last',
    })}
  `;
}

// Old code still runs against it: it only adds a column with a default, which old processes do not read.
/** Owner: modules/domains. */
export class RequireTls1700000000060 extends ForwardOnlyMigration {
  readonly name = 'RequireTls1700000000060';

  // A constant default: the table is not rewritten.
  protected readonly sql = `
    alter table domains add column require_tls boolean not null default false;
    ${commentOn('domains', 'as long as the domain', {
      require_tls: 'none: whether its mail may go over encrypted connections only',
    })}
  `;
}

// Old code still runs against it: it only adds a table.
/** Owner: delivery. Of receiving domains, not of tenants: all workers and all tenants share them. */
export class MtaStsPolicies1700000000061 extends ForwardOnlyMigration {
  readonly name = 'MtaStsPolicies1700000000061';

  protected readonly sql = `
    create table mta_sts_policies (
      domain text primary key,
      policy_id text,
      mode text check (mode in ('enforce', 'testing', 'none')),
      mx text[] not null default '{}',
      expires_at timestamptz,
      refresh_at timestamptz,
      used_at timestamptz not null default now(),
      tried_id text,
      fetching_until timestamptz,
      retry_at timestamptz,
      failure text,
      failure_type text
    );
    create index mta_sts_policies_refresh on mta_sts_policies (refresh_at) where mode is not null;
    ${commentOn('mta_sts_policies', 'until the policy has expired, or a month after its last use', {
      domain: 'none: a receiving domain',
      policy_id: 'none: which of its policies this is',
      mode: 'none: enforce, testing or none; empty while no policy has been fetched',
      mx: 'none: the mail exchangers that it names',
      expires_at: 'none: until when the policy holds',
      refresh_at: 'none: when it is fetched anew',
      used_at: 'none: when mail last asked for it, to the day',
      tried_id: 'none: which policy was tried to fetch last',
      fetching_until: 'none: while a process is fetching it',
      retry_at: 'none: not fetched again before that',
      failure: 'none: why the last fetch failed',
      failure_type: 'none: the same in the words of RFC 8460',
    })}
  `;
}

// Old code still runs against it: it only adds tables.
/**
 * Owner: delivery. The row `*` says that mail was sent before: the pools that the first worker of this release finds are not
 * new. It takes that row away.
 */
export class AddressWarmUp1700000000062 extends ForwardOnlyMigration {
  readonly name = 'AddressWarmUp1700000000062';

  protected readonly sql = `
    create table egress_addresses (
      address text primary key,
      warm_up_day integer not null default 0,
      warm_up_date date,
      warm_up_ended_at timestamptz,
      warm_up_started_at timestamptz not null default now()
    );
    insert into egress_addresses (address, warm_up_ended_at)
    select '*', now() where exists (select 1 from emails limit 1);
    create table egress_volumes (
      address text not null,
      day date not null,
      provider text not null,
      taken integer not null,
      primary key (address, provider, day)
    );
    create index egress_volumes_day on egress_volumes (day);
    ${commentOn('egress_addresses', 'until the address is removed by hand', {
      address: 'none: one of our own addresses',
      warm_up_day: 'none: days on which it has sent',
      warm_up_date: 'none: the last of these',
      warm_up_ended_at: 'none: when its limits ended',
      warm_up_started_at: 'none: when it was seen first, or begun again',
    })}
    ${commentOn('egress_volumes', 'seven days', {
      address: 'none: one of our own addresses',
      day: 'none: the day',
      provider: 'none: the receivers',
      taken: 'none: how many mails it has sent to them',
    })}
  `;
}
