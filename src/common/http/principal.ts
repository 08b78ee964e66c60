import type { Mode } from '../mode';

/** Who is calling: what the auth guard leaves on the request. */
export interface Principal {
  readonly organizationId: string;
  readonly apiKeyId: string;
  readonly mode: Mode;
  readonly scopes: ReadonlySet<string>;
  /** Set when the key is bound to one domain. */
  readonly domainId: string | undefined;
}
