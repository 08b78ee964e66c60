// Old code still runs against it: it only adds a table.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: audit. */
export class AuditLog1700000000011 extends ForwardOnlyMigration {
  readonly name = 'AuditLog1700000000011';

  protected readonly sql = `
    create table audit_log (
      organization_id uuid not null,
      -- Version 7: sorts by time.
      id uuid not null,
      occurred_at timestamptz not null,
      -- A key's id, 'operator' (the command line) or 'system' (a background job).
      actor text not null,
      -- Like domain.verified, dkim.rotated.
      action text not null,
      target_type text not null,
      target_id text not null,
      data jsonb not null default '{}',
      primary key (organization_id, id)
    );
    create function refuse_change() returns trigger language plpgsql as $$
      begin
        raise exception 'audit_log is append-only' using errcode = 'restrict_violation';
      end $$;
    create trigger audit_log_append_only before update on audit_log
      for each statement execute function refuse_change();
  `;
}
