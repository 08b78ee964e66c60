// Old code still runs against it: it only adds a table.
import { ForwardOnlyMigration } from './forward-only';

/** Owner: domains. */
export class RemovedDomains1700000000016 extends ForwardOnlyMigration {
  readonly name = 'RemovedDomains1700000000016';

  protected readonly sql = `
    -- Removed domains that have sent live mail: one that is added again goes on where it was.
    create table removed_domains (
      organization_id uuid not null,
      domain text not null,
      id uuid not null,
      warming_status text not null,
      warming_started_at timestamptz,
      warming_paused_at timestamptz,
      warming_pause_reason text,
      warming_judged_since timestamptz,
      removed_at timestamptz not null,
      primary key (organization_id, domain)
    );
  `;
}
