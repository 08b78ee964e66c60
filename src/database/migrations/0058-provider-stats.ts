// Old code still runs against it: it adds a table, and a column that old processes leave empty. What old processes append or
// fold while the release is rolled out is missing by receiver; the totals have it.
import { commentOn, OWNER } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: stats. */
export class ProviderStats1700000000058 extends ForwardOnlyMigration {
  readonly name = 'ProviderStats1700000000058';

  // A column without a default rewrites nothing.
  protected readonly sql = `
    alter table stats_deltas add column by_provider jsonb;
    ${commentOn('stats_deltas', 'seconds, until they are folded into stats_hourly', { by_provider: 'none: of the counters, what is of each group of receivers' })}

    -- What has come of mail to a group of receivers, by the hour in which it happened (UTC). Folded of stats_deltas.
    create table stats_providers (
      organization_id uuid not null,
      mode text not null,
      domain_id uuid not null,
      hour timestamptz not null,
      provider text not null,
      accepted bigint not null,
      delivered bigint not null,
      deferred bigint not null,
      bounced bigint not null,
      excused bigint not null,
      complaints bigint not null,
      primary key (organization_id, mode, domain_id, hour, provider)
    );
    create index stats_providers_by_hour on stats_providers (organization_id, mode, hour);
    ${commentOn('stats_providers', 'as long as the organization: counters of nobody in particular', {
      ...OWNER,
      domain_id: 'none: the sender domain',
      hour: 'none: when the hour begins',
      provider: 'none: the group of receivers',
      accepted: 'none: recipients that the receivers took',
      delivered: 'none: recipients delivered to',
      deferred: 'none: attempts to be repeated',
      bounced: 'none: recipients that bounced',
      excused: 'none: of those, what says nothing of the sender',
      complaints: 'none: recipients that complained',
    })}
  `;
}
