// Makes additions to the endpoints of an organization and mode follow one another, so that their number can be limited.
// Takes no table: an advisory lock until the end of the transaction. Rows: 1.
// Not the ORM: it has no advisory locks, and row locks cannot hold back a first endpoint.
import type { Statement } from '../../../database/statement';

const TEXT = `select pg_advisory_xact_lock(hashtextextended('webhooks of ' || $1 || ' ' || $2, 0))`;

export function lockWebhookList(organizationId: string, mode: string): Statement<unknown> {
  return { name: 'lock-webhook-list', text: TEXT, values: [organizationId, mode] };
}
