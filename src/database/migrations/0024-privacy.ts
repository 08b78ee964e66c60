// Old code still runs against it: it only adds tables.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: privacy. */
export class Privacy1700000000024 extends ForwardOnlyMigration {
  readonly name = 'Privacy1700000000024';

  protected readonly sql = `
    -- What data subjects asked for. pending: for any worker; processing: a worker has it until lease_until, and goes on
    -- from progress; completed, failed: the end.
    create table privacy_requests (
      organization_id uuid not null,
      mode text not null check (mode in ('live', 'test')),
      id uuid not null,
      type text not null check (type in ('article_15_access', 'article_17_erasure')),
      -- Sealed JSON {email, reason?}: gone once the subject has been erased.
      subject bytea,
      -- Like j***@example.com.
      masked_email text not null,
      -- Keyed hash of the address's normal form: finds the requests of one subject.
      subject_hash bytea not null,
      format text check (format in ('json', 'csv')),
      status text not null check (status in ('pending', 'processing', 'completed', 'failed')),
      failure text,
      attempts integer not null default 0,
      lease_until timestamptz,
      -- Of the worker that has it: a result is taken only with the newest.
      lease_token uuid,
      progress jsonb not null default '{}',
      -- Of an erasure: {emailsAnonymized, …} and what had to be kept.
      receipt jsonb,
      api_key_id uuid,
      requested_at timestamptz not null,
      completed_at timestamptz,
      -- Of an export's result.
      expires_at timestamptz,
      primary key (organization_id, mode, id)
    );
    create index privacy_requests_open on privacy_requests (requested_at) where status in ('pending', 'processing');
    create index privacy_requests_subject on privacy_requests (organization_id, mode, subject_hash);
    -- Asked again while the first is open, it is the same request.
    create unique index privacy_requests_one_open
      on privacy_requests (organization_id, mode, subject_hash, type, coalesce(format, ''))
      where status in ('pending', 'processing');

    -- An export's result, sealed, in parts that are written as far as the request's progress says.
    create table privacy_export_parts (
      organization_id uuid not null,
      mode text not null,
      request_id uuid not null,
      section text not null check (section in ('emails', 'events', 'suppressions')),
      part integer not null,
      content bytea not null,
      primary key (organization_id, mode, request_id, section, part)
    );
  `;
}
