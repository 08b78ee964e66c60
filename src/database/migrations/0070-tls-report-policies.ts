// Old code still runs against it: it only adds columns, which old processes neither read nor write.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: delivery. What reports on TLS tell of the policies that connections were judged by. */
export class TlsReportPolicies1700000000070 extends ForwardOnlyMigration {
  readonly name = 'TlsReportPolicies1700000000070';

  // Constant defaults: the tables are not rewritten.
  protected readonly sql = `
    alter table tls_sessions add column policy text not null default '';
    alter table mta_sts_policies add column max_age integer;
    ${commentOn('tls_sessions', 'until the report of the day has been sent, three days at most', {
      policy: 'none: that policy as the receiving domain has published it',
    })}
    ${commentOn('mta_sts_policies', 'until the policy has expired, or a month after its last use', {
      max_age: 'none: for how many seconds it says that it holds',
    })}
  `;
}
