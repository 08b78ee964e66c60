import { ForwardOnlyMigration } from './forward-only';

// Old code still runs against it: it only adds tables.
/** Owner: emails. */
export class Emails1700000000004 extends ForwardOnlyMigration {
  readonly name = 'Emails1700000000004';

  protected readonly sql = `
    create table emails (
      organization_id uuid not null,
      mode text not null check (mode in ('live', 'test')),
      id uuid not null,
      domain_id uuid not null,
      status text not null
        check (status in ('queued', 'scheduled', 'sending', 'sent', 'delivered', 'bounced', 'failed')),
      from_email text not null,
      from_name text,
      reply_to text[],
      subject text not null,
      to_emails text[] not null,
      cc_emails text[],
      bcc_emails text[],
      tags text[],
      metadata jsonb,
      category text not null check (category in ('transactional', 'bulk')),
      track_opens boolean not null,
      track_clicks boolean not null,
      -- Sequence of the newest event; the row's lock orders the writers of one email.
      event_sequence integer not null,
      open_count integer not null default 0,
      click_count integer not null default 0,
      scheduled_for timestamptz,
      expires_at timestamptz,
      sent_at timestamptz,
      delivered_at timestamptz,
      bounced_at timestamptz,
      failed_at timestamptz,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      primary key (organization_id, mode, id)
    ) partition by range (id);

    create table email_contents (
      organization_id uuid not null,
      mode text not null,
      email_id uuid not null,
      html text,
      text text,
      headers jsonb,
      -- Mailboxes with their display names, as the headers show them: {to, cc, replyTo}.
      addressees jsonb not null,
      attachment_count smallint not null default 0,
      primary key (organization_id, mode, email_id)
    ) partition by range (email_id);

    create table email_attachments (
      organization_id uuid not null,
      mode text not null,
      email_id uuid not null,
      position smallint not null,
      filename text not null,
      content_type text not null,
      content_id text,
      size integer not null,
      content bytea not null,
      primary key (organization_id, mode, email_id, position)
    ) partition by range (email_id);

    create table email_recipients (
      organization_id uuid not null,
      mode text not null,
      email_id uuid not null,
      position smallint not null,
      kind text not null check (kind in ('to', 'cc', 'bcc')),
      address text not null,
      status text not null
        check (status in ('queued', 'scheduled', 'sending', 'sent', 'delivered', 'bounced', 'failed')),
      -- Set of the outcomes seen (bits of modules/emails/outcomes): the status is the furthest of them, in any order.
      seen integer not null default 0,
      attempts integer not null default 0,
      last_response text,
      updated_at timestamptz not null,
      primary key (organization_id, mode, email_id, position)
    ) partition by range (email_id);
    -- The address comes first on purpose: begun like the primary key, this index looked as good as that one to a plan made
    -- before the table had statistics, and a look-up by email then walked all recipients of the tenant.
    create index email_recipients_address on email_recipients (lower(address), organization_id, mode, email_id);

    create table email_events (
      organization_id uuid not null,
      mode text not null,
      email_id uuid not null,
      sequence integer not null,
      id uuid not null,
      event_type text not null,
      source text not null,
      occurred_at timestamptz not null,
      data jsonb not null,
      primary key (organization_id, mode, email_id, sequence)
    ) partition by range (email_id);

    -- A missing month never loses mail: it lands in the default partition, and a metric tells.
    create table emails_default partition of emails default with (fillfactor = 60);
    create table email_contents_default partition of email_contents default;
    create table email_attachments_default partition of email_attachments default;
    create table email_recipients_default partition of email_recipients default with (fillfactor = 60);
    create table email_events_default partition of email_events default;

    call create_month_partitions('emails', 3);
    call create_month_partitions('email_contents', 3);
    call create_month_partitions('email_attachments', 3);
    call create_month_partitions('email_recipients', 3);
    call create_month_partitions('email_events', 3);

    create table idempotency_keys (
      organization_id uuid not null,
      mode text not null,
      path text not null,
      key text not null,
      -- SHA-256 of the canonical JSON of the body.
      fingerprint bytea not null,
      -- What became of the request, to be answered again: one result, or a batch's list of them.
      response jsonb not null,
      created_at timestamptz not null,
      primary key (organization_id, mode, path, key)
    );
    create index idempotency_keys_created_at on idempotency_keys (created_at);
  `;
}

// Old code still runs against it: it only adds tables.
/** Owner: delivery. */
export class DeliveryQueue1700000000005 extends ForwardOnlyMigration {
  readonly name = 'DeliveryQueue1700000000005';

  protected readonly sql = `
    create table worker_sessions (
      id uuid primary key,
      host text not null,
      process_id integer not null,
      started_at timestamptz not null default now(),
      lease_until timestamptz not null
    );

    -- Open work only: a row leaves when its delivery is terminal.
    create table deliveries (
      organization_id uuid not null,
      mode text not null,
      email_id uuid not null,
      position smallint not null,
      domain_id uuid not null,
      recipient text not null,
      destination text not null,
      category text not null,
      -- waiting: due in the future; ready: due; claimed: owned by session_id until its lease ends.
      state text not null check (state in ('waiting', 'ready', 'claimed')),
      due_at timestamptz not null,
      first_due_at timestamptz not null,
      expires_at timestamptz,
      attempt integer not null default 0,
      -- Attempts that ended with the worker's death: three of them and the delivery counts as poison.
      crashes integer not null default 0,
      claim_token integer not null default 0,
      session_id uuid,
      claimed_at timestamptz,
      primary key (organization_id, mode, email_id, position)
    ) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
    create index deliveries_ready on deliveries (organization_id, destination, due_at, email_id, position)
      where state = 'ready';
    create index deliveries_waiting on deliveries (due_at) where state = 'waiting';
    create index deliveries_claimed on deliveries (session_id) where state = 'claimed';
  `;
}
