// Old code still runs against it: it only adds tables.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: webhooks. */
export class Webhooks1700000000020 extends ForwardOnlyMigration {
  readonly name = 'Webhooks1700000000020';

  protected readonly sql = `
    create table webhook_endpoints (
      organization_id uuid not null,
      mode text not null check (mode in ('live', 'test')),
      id uuid not null,
      -- Set when a key made it that is bound to a domain: it hears of that domain's emails only.
      domain_id uuid,
      url text not null,
      -- Event types, or '*'.
      events text[] not null,
      description text,
      enabled boolean not null,
      -- request: by the customer; gone: answered 410; failing: nothing but failures for five days.
      disabled_reason text check (disabled_reason in ('request', 'gone', 'failing')),
      disabled_at timestamptz,
      -- Sealed.
      secret bytea not null,
      previous_secret bytea,
      previous_secret_until timestamptz,
      -- Events up to this id (of emails' event feed) have become messages.
      position uuid not null,
      -- Since when every attempt has failed.
      failing_since timestamptz,
      last_success_at timestamptz,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      primary key (organization_id, mode, id)
    );

    -- One event for one endpoint. It holds no payload: that is made of the event when it is sent, so that what is erased
    -- there is erased here.
    create table webhook_messages (
      organization_id uuid not null,
      mode text not null,
      endpoint_id uuid not null,
      -- The event's id, and the webhook-id that the receiver sees; a test message has one of its own.
      id uuid not null,
      -- The event; null in a test message.
      email_id uuid,
      sequence integer,
      event_type text not null,
      -- pending: due at next_attempt_at; sending: a worker has it until claimed_until; delivered, failed: the end.
      state text not null check (state in ('pending', 'sending', 'delivered', 'failed')),
      attempts integer not null default 0,
      next_attempt_at timestamptz not null,
      claimed_until timestamptz,
      last_attempt_at timestamptz,
      -- HTTP status of the last answer.
      last_status integer,
      -- What went wrong last, or why it was given up.
      last_error text,
      delivered_at timestamptz,
      created_at timestamptz not null,
      primary key (organization_id, mode, endpoint_id, id)
    ) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
    create index webhook_messages_due on webhook_messages (organization_id, mode, endpoint_id, next_attempt_at)
      where state = 'pending';
    create index webhook_messages_sending on webhook_messages (claimed_until) where state = 'sending';
    create index webhook_messages_age on webhook_messages (created_at);
    create index webhook_messages_failed on webhook_messages (organization_id, mode, endpoint_id, id)
      where state = 'failed';

    -- The events of a span that become messages once more, a few at a time; at most one for an endpoint.
    create table webhook_replays (
      organization_id uuid not null,
      mode text not null,
      endpoint_id uuid not null,
      -- Events up to this id are done with; the row goes when none is left below end_before.
      position uuid not null,
      end_before uuid not null,
      updated_at timestamptz not null,
      primary key (organization_id, mode, endpoint_id)
    );

    -- Endpoints that are gone and whose messages are still to be deleted.
    create table webhook_removals (
      organization_id uuid not null,
      mode text not null,
      endpoint_id uuid not null,
      primary key (organization_id, mode, endpoint_id)
    );
  `;
}
