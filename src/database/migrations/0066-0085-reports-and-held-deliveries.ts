import { commentOn } from './data-map/comment-on';
import { BuildIndexesMigration, ForwardOnlyMigration } from './forward-only';

// Old code still runs against it: it only adds a column, which old processes leave empty.
/** Owner: webhooks. */
export class WebhookAnswers1700000000066 extends ForwardOnlyMigration {
  readonly name = 'WebhookAnswers1700000000066';

  // Without a default the table is not rewritten. At most some 4 KB, most of it out of line.
  protected readonly sql = `
    alter table webhook_messages add column last_answer jsonb;
    ${commentOn('webhook_messages', 'RETENTION_WEBHOOKS_DAYS', {
      last_answer:
        "text: the beginning of what the customer's server answered; addresses of emails in it are masked before it is stored",
    })}
  `;
}

// Old code still runs against it: it only adds a table.
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

// Old code still runs against it: it only adds a table.
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

// Old code still runs against it: it only adds a table.
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

// Old code still runs against it: it only adds columns, which old processes neither read nor write.
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

// Old code still runs against it: it only adds an index.
/** Owner: delivery. */
export class TriedDeliveries1700000000076 extends BuildIndexesMigration {
  readonly name = 'TriedDeliveries1700000000076';

  /**
   * Suspects (SUSPECT_CRASHES) that a worker tries at this moment; almost always empty. Looked for every second by each worker,
   * which would otherwise read all that is claimed.
   */
  protected readonly indexes = [
    {
      name: 'deliveries_tried',
      table: 'deliveries',
      definition: `(session_id, claimed_at) where state = 'claimed' and crashes >= 2`,
    },
  ];
}

// Old code still runs against it: it only adds an index.
/** Owner: inbound-mail. */
export class InboundLists1700000000080 extends BuildIndexesMigration {
  readonly name = 'InboundLists1700000000080';

  /** The newest of one domain, for a key that is bound to it: among millions of other domains' they would not be found. */
  protected readonly indexes = [
    { name: 'inbound_emails_domain', table: 'inbound_emails', definition: '(organization_id, mode, domain_id, id)' },
  ];
}

// Old code still runs against it: it only adds columns, which old processes leave empty.
/** Owner: delivery. */
export class HeldDeliveries1700000000083 extends ForwardOnlyMigration {
  readonly name = 'HeldDeliveries1700000000083';

  // Without a default the table is not rewritten.
  protected readonly sql = `
    alter table deliveries add column held_at timestamptz;
    alter table deliveries add column held_reason text;
    ${commentOn('deliveries', 'until the delivery has ended: four days at most after it was due', {
      held_at: 'none: when an operator put it aside',
      held_reason: "text: why, in the operator's own words",
    })}
  `;
}

// Old code still runs against it: it only changes comments.
/** Owner: delivery. */
export class RuledDestinations1700000000084 extends ForwardOnlyMigration {
  readonly name = 'RuledDestinations1700000000084';

  protected readonly sql = commentOn(
    'destination_reports',
    'an hour; the newest of a group for as long as a rule is about it',
    {
      key: 'none: the first mail exchanger of the group',
      session_id: 'none: the worker',
      active: 'none: conversations under way',
      concurrency: 'none: conversations that it allows itself',
      pauses: 'none: pauses in a row',
      paused_until: 'none: when the pause ends',
      changed_at: 'none: when it last paused, opened or slowed it',
      mx_hosts: 'none: the mail exchangers of the group',
      domains: 'none: domains of recipients, some of them',
      delivered: 'none: how many were taken',
      deferred: 'none: how many are to be tried again',
      bounced: 'none: how many were refused',
      reported_at: 'none: when the worker told it',
    },
  );
}

const SESSION_ONLY = {
  session_only: 'none: whether it was made for one session of the console, and ends with it',
} as const;

// Old code still runs against it: it only adds columns that have a default.
/** Owner: auth. */
export class SessionKeys1700000000085 extends ForwardOnlyMigration {
  readonly name = 'SessionKeys1700000000085';

  protected readonly sql = `
    alter table api_keys add column session_only boolean not null default false;
    alter table operator_keys add column session_only boolean not null default false;
    ${commentOn('api_keys', 'as long as the organization', SESSION_ONLY)}
    ${commentOn('operator_keys', 'as long as the installation', SESSION_ONLY)}
  `;
}
