import type { Transaction } from '../../database/statements/transaction';

/**
 * What lower layers need to know of domains: which organization owns one (for API keys bound to a domain) and what it
 * is called (statistics, which count by id). The one port that inverts an import; the feature `domains` implements it.
 */
export abstract class DomainDirectory {
  /** Whether the domain belongs to the organization, verified or not; it is not removed before the transaction ends. */
  abstract holds(organizationId: string, domainId: string, tx: Transaction): Promise<boolean>;

  /** Names by id, of the organization's domains and of its removed ones as long as their names are kept; unknown ids are left out. */
  abstract namesOf(organizationId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}
