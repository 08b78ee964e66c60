// Old code still runs against it: it only adds a table.
import { commentOn } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

/** Owner: domains. */
export class DmarcSources1700000000067 extends ForwardOnlyMigration {
  readonly name = 'DmarcSources1700000000067';

  protected readonly sql = `
    -- What receivers report (RFC 7489) of mail in a domain's name, by source and result; a report is stored once.
    create table dmarc_sources (
      organization_id uuid not null,
      domain_id uuid not null,
      reporter text not null,
      report_id text not null,
      source_ip text not null,
      dkim boolean not null,
      spf boolean not null,
      disposition text not null check (disposition in ('none', 'quarantine', 'reject')),
      policy text not null check (policy in ('none', 'quarantine', 'reject')),
      begins_at timestamptz not null,
      ends_at timestamptz not null,
      messages bigint not null,
      received_at timestamptz not null default now(),
      primary key (organization_id, domain_id, reporter, report_id, source_ip, dkim, spf, disposition)
    );
    create index dmarc_sources_received on dmarc_sources (organization_id, domain_id, received_at);
    create index dmarc_sources_old on dmarc_sources (received_at);
    ${commentOn('dmarc_sources', '400 days', {
      organization_id: 'none: the tenant',
      domain_id: 'none: whose name the mail bore',
      reporter: 'none: the receiver that reports, by its own account',
      report_id: 'none: names the report',
      source_ip: 'ip: the server that sent mail in the name of the domain',
      dkim: 'none: whether a signature passed and was aligned',
      spf: 'none: whether the return path passed and was aligned',
      disposition: 'none: what the receiver did',
      policy: 'none: what the domain had asked for',
      begins_at: 'none: when the period of the report begins',
      ends_at: 'none: when it ends',
      messages: 'none: how many there were',
      received_at: 'none: when the report was read',
    })}
  `;
}
