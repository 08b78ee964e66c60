// Makes changes to which domains an organization has, and which is its default, follow one another.
// Takes no table: an advisory lock until the end of the transaction. Two organizations whose hashes meet merely wait for
// each other. Rows: 1. Not the ORM: it has no advisory locks, and row locks cannot hold back a first domain.
import type { Statement } from '../../../database/statement';

const TEXT = `select pg_advisory_xact_lock(hashtextextended('domains of ' || $1, 0))`;

export function lockDomainList(organizationId: string): Statement<unknown> {
  return { name: 'lock-domain-list', text: TEXT, values: [organizationId] };
}
