/**
 * What the domains that mail is counted for are called. A port, because domains stand above statistics and know it;
 * the feature `domains` is behind it.
 */
export abstract class DomainNames {
  /** Names by id, of the organization's domains and of removed ones that are remembered; unknown ones are left out. */
  abstract namesOf(organizationId: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}
