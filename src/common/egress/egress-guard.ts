/** What became of looking a host up. `refused`: it must not be connected to; `temporary`: nothing is known now. */
export type EgressCheck =
  | { readonly kind: 'allowed'; readonly addresses: readonly string[] }
  | { readonly kind: 'refused' | 'temporary'; readonly reason: string };

/** Decides whether the service may open a connection of its own to where a customer points it (SSRF). */
export abstract class EgressGuard {
  /** Looks up the URL's host and checks every address by range; connections go to these addresses and no others. */
  abstract check(url: URL, options?: { readonly signal?: AbortSignal }): Promise<EgressCheck>;
}
