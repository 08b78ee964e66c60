// Old code still runs against it: it only adds triggers, and nothing deletes young entries.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: audit. */
export class AuditGuard1700000000028 extends ForwardOnlyMigration {
  readonly name = 'AuditGuard1700000000028';

  protected readonly sql = `
    -- Retention may delete, the shortest being one month; what was done lately cannot be hidden.
    create function refuse_young_deletion() returns trigger language plpgsql as $$
      begin
        if old.occurred_at > now() - interval '27 days' then
          raise exception 'audit_log is append-only' using errcode = 'restrict_violation';
        end if;
        return old;
      end $$;
    create trigger audit_log_keep_young before delete on audit_log
      for each row execute function refuse_young_deletion();
    create trigger audit_log_keep_all before truncate on audit_log
      for each statement execute function refuse_change();
  `;
}
