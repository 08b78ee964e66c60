import type { TlsPolicy } from '../ports/attempt-trace';
import type { TlsaDemand } from '../smtp/conversation/tlsa';

/**
 * Why only encrypted connections to a host will do. `mta-sts`: with a certificate that is valid for its name. `dane`: with one
 * that its TLSA records name.
 */
export type HostTls = { readonly policy: 'mta-sts' } | { readonly policy: 'dane'; readonly tlsa: TlsaDemand };

/** One host that takes mail for a destination. */
export interface RouteHost {
  /** For the TLS server name and for events. */
  readonly hostName: string;
  /** In the order in which to try them; at least one. */
  readonly addresses: readonly string[];
  readonly preference: number;
  /** What the destination demands of connections to it. */
  readonly tls?: HostTls;
}

/** Where mail for a destination goes now. */
export type Route =
  | {
      readonly kind: 'hosts';
      /** In the order in which to try them; at least one. */
      readonly hosts: readonly RouteHost[];
      readonly port: number;
      /**
       * Names the group of destinations that the same hosts take mail for: the first of them by preference and name. The
       * destination stands for itself when absent.
       */
      readonly group?: string;
      /** True when acceptance there is delivery: the recipient's own servers or the built-in mailbox, no relay. */
      readonly final: boolean;
    }
  | {
      readonly kind: 'unroutable';
      /** True when a later look-up cannot help. */
      readonly permanent: boolean;
      /** Enhanced status code (RFC 3463). */
      readonly enhancedCode: string;
      /** One sentence for people. */
      readonly reason: string;
      /** Names it in events, beside the rules for replies. */
      readonly ruleId: string;
      /** True when the domain does not exist in DNS. */
      readonly isDomainMissing?: boolean;
      /** There are hosts, but none that this lets mail go to. */
      readonly policy?: TlsPolicy;
    };

export type Unroutable = Extract<Route, { kind: 'unroutable' }>;

/** Mail exchangers that come into question. */
export interface HostFilter {
  /** The same for the same hosts: what was found is remembered by it. */
  readonly name: string;
  readonly allows: (hostName: string) => boolean;
}

export interface RouteOptions {
  /** What the destination demands of connections (MTA-STS, DANE) does not hold for this mail. */
  readonly isExempt?: boolean;
  /** Whose mail it is: look-ups have shares. */
  readonly holder?: string;
  /** Other hosts are left out before any is looked up. */
  readonly only?: HostFilter;
}

/** Hosts of a route at most: the first of those that have addresses. */
export const MAXIMUM_HOSTS = 5;

/** Finds the hosts that take mail for a destination. */
export abstract class Router {
  /**
   * Never throws for any result of DNS.
   * @param destination the recipient's domain in A-labels
   */
  abstract resolve(destination: string, options?: RouteOptions): Promise<Route>;
}

export const NO_SUCH_DOMAIN: Unroutable = {
  ...permanent('no-such-domain', '5.1.2', 'The domain does not exist.'),
  isDomainMissing: true,
};

export const NOT_A_DOMAIN = permanent('not-a-domain', '5.1.2', 'The destination is not a domain name.');

/** RFC 7505: the domain accepts no mail. */
export const NULL_MX = permanent('null-mx-record', '5.1.10', 'The domain accepts no mail (null MX).');

export const NO_ADDRESS = permanent(
  'no-address',
  '5.4.4',
  'Neither the domain nor its mail exchangers have an address.',
);

/** Temporary: one of the others may have an address (RFC 5321 section 5.1). */
export const MORE_EXCHANGERS: Unroutable = {
  ...{ kind: 'unroutable', permanent: false, enhancedCode: '4.4.4', ruleId: 'too-many-exchangers' },
  reason: 'The domain has more mail exchangers than are looked up, and none of those that were can be reached.',
};

/** Such as `MX 10 192.0.2.1`, which some administrators write. */
export const NO_HOST_NAME = permanent(
  'mx-names-no-host',
  '5.4.4',
  'The MX records of the domain name no host: an address, or what is no host name, cannot stand there.',
);

export const NO_USABLE_ADDRESS = permanent(
  'no-public-address',
  '5.4.4',
  'The mail exchangers have no address on the public Internet.',
);

/** Temporary, since the cause is on this side. */
export const NO_IPV6_HERE: Unroutable = {
  ...{ kind: 'unroutable', permanent: false, enhancedCode: '4.4.1', ruleId: 'no-ipv6-here' },
  reason: 'The mail exchangers have IPv6 addresses only, and this service has none to reach them from.',
};

export const LEADS_BACK = permanent('leads-back', '5.4.6', 'The mail exchangers lead back to this service.');

/** Temporary: silence or SERVFAIL do not show that the domain has no hosts. @param cause a code such as `ESERVFAIL` */
export function dnsFailure(cause: string): Unroutable {
  const reason = `DNS look-up failed (${cause}).`;
  return { kind: 'unroutable', permanent: false, enhancedCode: '4.4.3', reason, ruleId: 'dns-trouble' };
}

/** The database, which knows the domains of inbound routes, is unavailable. */
export const OWN_DOMAIN_UNKNOWN: Unroutable = {
  ...dnsFailure(''),
  reason: 'The mail exchangers lead back to this service, and whether it takes mail of the domain is unknown now.',
};

/** The hosts of the DNS are not those that the destination's policy names: the DNS or the policy is wrong for the moment. */
export function notInPolicy(hostNames: readonly string[]): Unroutable {
  const reason = `The domain's MTA-STS policy names none of its mail exchangers (${hostNames.join(', ')}).`;
  const policy = 'mta-sts';
  return { kind: 'unroutable', permanent: false, enhancedCode: '4.7.5', reason, ruleId: 'mta-sts-no-host', policy };
}

/** Whether the hosts have TLSA records is unknown, which must not count as having none (RFC 7672 section 2.1). */
export function tlsaFailure(hostNames: readonly string[]): Unroutable {
  const reason = `The TLSA records of the mail exchangers (${hostNames.join(', ')}) could not be looked up.`;
  return {
    kind: 'unroutable',
    permanent: false,
    enhancedCode: '4.7.5',
    reason,
    ruleId: 'dane-trouble',
    policy: 'dane',
  };
}

function permanent(ruleId: string, enhancedCode: string, reason: string): Unroutable {
  return { kind: 'unroutable', permanent: true, enhancedCode, reason, ruleId };
}
