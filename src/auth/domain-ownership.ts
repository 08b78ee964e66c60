/** What this room needs to know of domains; bound by the domains feature. */
export abstract class DomainOwnership {
  abstract owns(organizationId: string, domainId: string): Promise<boolean>;
}
