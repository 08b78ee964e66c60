// Old code still runs against it: it only adds a table.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

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
