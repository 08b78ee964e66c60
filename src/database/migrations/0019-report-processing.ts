// Old code still runs against it: it adds columns with defaults, and a table. Rows from before count as open.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: inbound. */
export class ReportProcessing1700000000019 extends ForwardOnlyMigration {
  readonly name = 'ReportProcessing1700000000019';

  protected readonly sql = `
    alter table inbound_reports
      -- How often a worker has taken it up, and until when it is that worker's.
      add column attempts smallint not null default 0,
      add column claimed_until timestamptz,
      -- Set together at the end: what the report turned out to be.
      add column processed_at timestamptz,
      add column disposition text;
    create index inbound_reports_open on inbound_reports (id) where processed_at is null;

    -- Mail to the addresses that anyone may write to; what it is about is found out later, if at all.
    create table feedback_reports (
      -- SHA-256 of the raw bytes: the same message twice is stored once.
      digest bytea primary key,
      id uuid not null,
      -- fbl, postmaster or abuse.
      mailbox text not null,
      received_at timestamptz not null,
      raw bytea not null,
      attempts smallint not null default 0,
      claimed_until timestamptz,
      processed_at timestamptz,
      disposition text,
      -- The delivery, once it is known.
      organization_id uuid,
      mode text,
      email_id uuid,
      position smallint
    );
    create index feedback_reports_id on feedback_reports (id);
    -- The limits are counted for each mailbox.
    create index feedback_reports_mailbox on feedback_reports (mailbox, id);
    create index feedback_reports_open on feedback_reports (id) where processed_at is null;
  `;
}
