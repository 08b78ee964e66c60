import { commentOn, OWNER } from './data-map/comment-on';
import { ForwardOnlyMigration } from './forward-only';

// Old code still runs against it: it only adds a column, which old processes leave empty.
/** Owner: delivery. */
export class TraceContext1700000000056 extends ForwardOnlyMigration {
  readonly name = 'TraceContext1700000000056';

  // 24 bytes for the deliveries of a sampled trace, none for others; without a default the table is not rewritten.
  protected readonly sql = `
    alter table deliveries add column trace_context bytea;
    ${commentOn('deliveries', 'until the delivery has ended: four days at most after it was due', {
      trace_context: 'none: trace and span (W3C Trace Context) of the request, where it is traced',
    })}
  `;
}

// Old code still runs against it: it adds tables, and a purpose that old code does not write.
/** Owner: inbound-mail. */
export class InboundMail1700000000057 extends ForwardOnlyMigration {
  readonly name = 'InboundMail1700000000057';

  protected readonly sql = `
    -- Purpose inbound: the MX of a route's host. Short, but every row is of the old list anyway.
    alter table domain_checks drop constraint domain_checks_purpose_check;
    alter table domain_checks add constraint domain_checks_purpose_check check (
      purpose in ('verification', 'dkim', 'spf', 'dmarc', 'return_path', 'tracking', 'inbound')
    ) not valid;

    create table inbound_routes (
      organization_id uuid not null,
      id uuid not null,
      -- Lower case: local@domain, or *@domain.
      address text not null,
      webhook_id uuid,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      primary key (organization_id, id)
    );
    create unique index inbound_routes_address on inbound_routes (address, organization_id);
    ${commentOn('inbound_routes', 'until it is deleted', {
      organization_id: 'none: the tenant',
      id: 'none: the route',
      address: 'none: an address or a pattern of the customer’s own domain',
      webhook_id: 'none: the webhook that alone is told of its mail',
      created_at: 'none: when it was made',
      updated_at: 'none: when it was changed',
    })}
    -- Mail that came to a route; also its event, whose id is the row's.
    create table inbound_emails (
      organization_id uuid not null,
      mode text not null,
      id uuid not null,
      route_id uuid not null,
      domain_id uuid not null,
      webhook_id uuid,
      digest bytea not null,
      envelope_from text not null,
      envelope_to text[] not null,
      from_address text not null,
      -- All addresses of envelope and header, in lower case: for erasure and export.
      addresses text[] not null,
      data jsonb not null,
      size_bytes integer not null,
      received_at timestamptz not null,
      primary key (organization_id, mode, id)
    );
    create unique index inbound_emails_digest on inbound_emails (organization_id, mode, digest);
    -- By time, not by id: in the order of ids the feed of a small tenant would be looked for in everyone's mail.
    create index inbound_emails_age on inbound_emails (received_at);
    create index inbound_emails_addresses on inbound_emails using gin (addresses);
    ${commentOn('inbound_emails', 'RETENTION_INBOUND_DAYS after it came', {
      ...OWNER,
      id: 'none: the email, and its event',
      route_id: 'none: the route that it came by',
      domain_id: 'none: the route’s domain',
      webhook_id: 'none: the webhook that alone is told',
      digest: 'hash: the same message twice is stored once',
      envelope_from: 'address: who sent it',
      envelope_to: 'address: whom it came to',
      from_address: 'address: who wrote it',
      addresses: 'address: whose data it is',
      data: 'content: what lists and events show of it',
      size_bytes: 'none: limits',
      received_at: 'none: when it came',
    })}
    create table inbound_email_parts (
      organization_id uuid not null,
      mode text not null,
      email_id uuid not null,
      position integer not null,
      content bytea not null,
      primary key (organization_id, mode, email_id, position)
    );
    alter table inbound_email_parts alter column content set storage external;
    -- What an organization keeps of it, written with each message that comes or goes.
    create table inbound_usage (
      organization_id uuid not null primary key,
      emails bigint not null,
      bytes bigint not null
    );
    ${commentOn('inbound_email_parts', 'RETENTION_INBOUND_DAYS after it came', {
      ...OWNER,
      email_id: 'none: the email',
      position: 'none: its place, in steps of 1 MiB',
      content: 'content: the message as it came',
    })}
    ${commentOn('inbound_usage', 'as long as the organization has had inbound mail', {
      organization_id: 'none: the tenant',
      emails: 'none: how many are stored',
      bytes: 'none: how much they take, for its limit',
    })}
    -- Failed logins over SMTP are counted by all processes together.
    ${commentOn('throttle_hits', 'the window: an hour at most, a day for test limits', {
      key: 'ip: the id of an API key or a domain, and the limit; of failed logins over SMTP the client’s network',
    })}
  `;
}

// Old code still runs against it: it adds a table, and a column that old processes leave empty. What old processes append or
// fold while the release is rolled out is missing by receiver; the totals have it.
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
