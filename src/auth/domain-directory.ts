/**
 * What the modules below the domains need to know of them: whose a domain is (API keys that are bound to one) and what it
 * is called (statistics, which count by id). The one port that inverts an import; the feature `domains` implements it.
 */
export abstract class DomainDirectory {
  abstract owns(organizationId: string, domainId: string): Promise<boolean>;

  /** Names by id, of the organization's domains and of removed ones that are remembered; unknown ones are left out. */
  abstract namesOf(organizationId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}
