import type { Tenant } from '../tenant';

/** Who is calling: what the auth guard leaves on the request. */
export interface Principal extends Tenant {
  readonly apiKeyId: string;
  readonly scopes: ReadonlySet<string>;
  /** Set when the key is bound to one domain. */
  readonly domainId: string | undefined;
}
