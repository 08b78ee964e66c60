/** One host that takes mail for a destination. */
export interface RouteHost {
  /** For the TLS server name and for events. */
  readonly hostName: string;
  /** In the order in which to try them; at least one. */
  readonly addresses: readonly string[];
  readonly preference: number;
}

/** Where mail for a destination goes now. */
export type Route =
  | {
      readonly kind: 'hosts';
      /** In the order in which to try them; at least one. */
      readonly hosts: readonly RouteHost[];
      readonly port: number;
      /** True when acceptance there is delivery: the recipient's own servers or the built-in mailbox, no relay. */
      readonly final: boolean;
    }
  | {
      readonly kind: 'unroutable';
      /** True when asking again cannot help. */
      readonly permanent: boolean;
      /** Enhanced status code (RFC 3463). */
      readonly enhancedCode: string;
      /** One sentence for people. */
      readonly reason: string;
    };

export type Unroutable = Extract<Route, { kind: 'unroutable' }>;

/** Finds the hosts that take mail for a destination. */
export abstract class Router {
  /** @param destination the recipient's domain in A-labels. Never throws for what the DNS may answer. */
  abstract resolve(destination: string): Promise<Route>;
}
