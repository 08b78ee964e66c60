// Old code still runs against it: it only adds a table.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: domains. */
export class TlsResults1700000000068 extends ForwardOnlyMigration {
  readonly name = 'TlsResults1700000000068';

  protected readonly sql = `
    -- What senders report (RFC 8460) of their connections to a domain's mail exchangers; a report is stored once.
    create table tls_results (
      organization_id uuid not null,
      domain_id uuid not null,
      reporter text not null,
      report_id text not null,
      policy_type text not null check (policy_type in ('sts', 'tlsa', 'no-policy-found')),
      result text not null,
      mx_host text not null,
      sessions bigint not null,
      begins_at timestamptz not null,
      ends_at timestamptz not null,
      received_at timestamptz not null default now(),
      primary key (organization_id, domain_id, reporter, report_id, policy_type, result, mx_host)
    );
    create index tls_results_received on tls_results (organization_id, domain_id, received_at);
    create index tls_results_old on tls_results (received_at);
    ${commentOn('tls_results', '400 days', {
      organization_id: 'none: the tenant',
      domain_id: 'none: whose mail exchangers were connected to',
      reporter: 'none: the sender that reports, by its own account',
      report_id: 'none: names the report',
      policy_type: 'none: the kind of policy that the connections were judged by',
      result: 'none: success, or what failed',
      mx_host: 'none: the receiving host',
      sessions: 'none: how many connections',
      begins_at: 'none: when the period of the report begins',
      ends_at: 'none: when it ends',
      received_at: 'none: when the report was read',
    })}
  `;
}
