// Old code still runs against it: it only adds tables.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: inbound. */
export class InboundReports1700000000009 extends ForwardOnlyMigration {
  readonly name = 'InboundReports1700000000009';

  protected readonly sql = `
    -- Bounce messages with a Return-Path line before them, committed before the listener's 250.
    create table inbound_reports (
      organization_id uuid not null,
      mode text not null,
      email_id uuid not null,
      position smallint not null,
      -- SHA-256 of the raw bytes: the same report twice is stored once.
      digest bytea not null,
      id uuid not null,
      received_at timestamptz not null default now(),
      raw bytea not null,
      primary key (organization_id, mode, email_id, position, digest)
    );
    -- Retention and the parser go by the order of arrival.
    create index inbound_reports_id on inbound_reports (id);
  `;
}
