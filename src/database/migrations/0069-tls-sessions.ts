// Old code still runs against it: it only adds a table.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: delivery. Of receiving domains, not of tenants: what all mail to them met. */
export class TlsSessions1700000000069 extends ForwardOnlyMigration {
  readonly name = 'TlsSessions1700000000069';

  protected readonly sql = `
    -- Connections to domains that ask for reports on TLS (RFC 8460), until the day's report has been sent.
    create table tls_sessions (
      day date not null,
      domain text not null,
      policy_type text not null check (policy_type in ('sts', 'tlsa', 'no-policy-found')),
      result text not null,
      mx_host text not null,
      sending_ip text not null,
      receiving_ip text not null,
      sessions bigint not null,
      primary key (day, domain, policy_type, result, mx_host, sending_ip, receiving_ip)
    );
    ${commentOn('tls_sessions', 'until the report of the day has been sent, three days at most', {
      day: 'none: the day (UTC)',
      domain: 'none: a receiving domain',
      policy_type: 'none: the kind of policy that the connections were judged by',
      result: 'none: success, or what failed',
      mx_host: 'none: the receiving host',
      sending_ip: 'none: the address of ours that was connected from',
      receiving_ip: 'none: the address of the receiving host',
      sessions: 'none: how many connections',
    })}
  `;
}
