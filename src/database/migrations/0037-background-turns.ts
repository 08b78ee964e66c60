// Old code still runs against it, and takes up reports more slowly while many wait. The indexes are built while writes to
// these tables wait: they hold open rows only, and one entry for each domain.
import { ForwardOnlyMigration } from './forward-only';

/** Owners: inbound, privacy, domains. Background work takes turns among organizations: each is looked for by its id. */
export class BackgroundTurns1700000000037 extends ForwardOnlyMigration {
  readonly name = 'BackgroundTurns1700000000037';

  protected readonly sql = `
    drop index inbound_reports_open;
    create index inbound_reports_open on inbound_reports (organization_id, id) where processed_at is null;

    -- Due since: of one that was put off, when its time comes; of one that is new, when it was made.
    create index privacy_requests_due
      on privacy_requests (type, organization_id, (coalesce(lease_until, requested_at)), id)
      where status in ('pending', 'processing');
    create index privacy_requests_leased on privacy_requests (organization_id, type) where lease_token is not null;

    -- By the first, whose turn it is; by the second, which of its domains.
    drop index domains_next_check;
    create index domains_next_check on domains (next_check_at, organization_id);
    create index domains_next_check_of on domains (organization_id, next_check_at);
  `;
}
