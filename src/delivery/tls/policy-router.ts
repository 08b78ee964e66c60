import { createHash } from 'node:crypto';
import { isLoopback } from '../../common/dns/public-address';
import type { AppConfig } from '../../config/config';
import {
  type HostTls,
  MAXIMUM_HOSTS,
  notInPolicy,
  type Route,
  type RouteHost,
  type RouteOptions,
  Router,
  tlsaFailure,
} from '../routing/router';
import type { SmtpEndpoint } from '../smtp/conversation/smtp-endpoint';
import type { DanePolicies, HostDane } from './dane.service';
import { allowsHost } from './mta-sts-policy';
import type { MtaStsPolicies, MtaStsState } from './mta-sts.service';

/** Demands on a connection, and their source. */
export type TlsDemand = Pick<SmtpEndpoint, 'security' | 'verifyCertificate' | 'policy' | 'auth' | 'tlsa'>;

type Settings = Pick<AppConfig['delivery'], 'mode' | 'relay' | 'tlsMode'>;

/** The address that a mail is sent to, and what demands encryption there. */
export interface TlsTarget {
  readonly address: string;
  /** The sender's domain lets its mail go over encrypted connections only. */
  readonly requiresTls: boolean;
  /** The destination's policy for the host. */
  readonly tls?: HostTls | undefined;
}

/**
 * Mail exchangers: opportunistic TLS (RFC 7435), unless the destination's policy, the operator or the sender's domain demands
 * more; the strictest wins. A relay with credentials must prove its identity before it gets them. Connections within this
 * machine need no encryption.
 */
export function tlsDemandOf({ address, requiresTls, tls }: TlsTarget, { mode, relay, tlsMode }: Settings): TlsDemand {
  if (mode === 'local') return { security: 'none', verifyCertificate: false };
  const isRequired = requiresTls || tlsMode === 'required';
  const ofExchanger = tls ? demandOfHost(tls) : isRequired ? REQUIRED : OPPORTUNISTIC;
  if (mode === 'direct' || !relay) return ofExchanger;
  const { implicitTls, auth } = relay;
  if (implicitTls) return { security: 'implicit', verifyCertificate: !isLoopback(address), auth };
  if (isLoopback(address)) return { ...OPPORTUNISTIC, auth };
  return auth ? { security: 'starttls', verifyCertificate: true, auth } : ofExchanger;
}

const OPPORTUNISTIC: TlsDemand = { security: 'opportunistic', verifyCertificate: false, policy: 'opportunistic' };
const REQUIRED: TlsDemand = { security: 'starttls', verifyCertificate: false, policy: 'required' };

function demandOfHost(tls: HostTls): TlsDemand {
  switch (tls.policy) {
    case 'mta-sts':
      return { security: 'starttls', verifyCertificate: true, policy: 'mta-sts' };
    case 'dane':
      return { security: 'starttls', verifyCertificate: false, policy: 'dane', tlsa: tls.tlsa };
  }
}

type Hosts = Extract<Route, { kind: 'hosts' }>;

/** Routes as another router does, to the hosts that the destination's policies allow. */
export class PolicyRouter extends Router {
  /** @param dane undefined where no resolver is trusted to validate */
  constructor(
    private readonly router: Router,
    private readonly mtaSts: Pick<MtaStsPolicies, 'policyOf'>,
    private readonly dane?: Pick<DanePolicies, 'of'>,
  ) {
    super();
  }

  /** Policies are looked up in parallel with hosts, and cached separately. */
  override async resolve(destination: string, options: RouteOptions = {}): Promise<Route> {
    if (options.isExempt === true) return this.router.resolve(destination, options);
    const domain = destination.toLowerCase().replace(/\.$/, '');
    const [route, mtaSts] = await Promise.all([
      this.router.resolve(destination, options),
      this.mtaSts.policyOf(domain, options.holder),
    ]);
    if (route.kind !== 'hosts') return route;
    const allowed = await this.apply(route, domain, mtaSts, options);
    const { policy } = mtaSts;
    // Each candidate has to match (RFC 8461 section 5), and the domain may have more than these.
    const isCut = route.hosts.length === MAXIMUM_HOSTS && policy?.mode === 'enforce';
    if (!isCut || (allowed.kind === 'hosts' && allowed.hosts.length === MAXIMUM_HOSTS)) return allowed;
    // A policy may be long.
    const name = createHash('sha256').update(policy.mx.join()).digest('base64url');
    const only = { name, allows: (host: string) => allowsHost(policy, host) };
    const matching = await this.router.resolve(destination, { ...options, only });
    if (matching.kind !== 'hosts') return allowed;
    const further = await this.apply(matching, domain, mtaSts, options);
    return together(allowed, further);
  }

  private async apply(route: Hosts, domain: string, mtaSts: MtaStsState, { holder }: RouteOptions): Promise<Route> {
    const names = route.hosts.map(({ hostName }) => hostName);
    return withPolicies(route, mtaSts, (await this.dane?.of(domain, names, route.port, holder)) ?? new Map());
  }
}

/** The hosts of both, by preference; the first comes before the second. */
function together(one: Route, other: Route): Route {
  if (one.kind !== 'hosts' || other.kind !== 'hosts') return other.kind === 'hosts' ? other : one;
  const known = new Set(one.hosts.map(({ hostName }) => hostName));
  const hosts = [...one.hosts, ...other.hosts.filter(({ hostName }) => !known.has(hostName))];
  return { ...one, hosts: hosts.sort((a, b) => a.preference - b.preference).slice(0, MAXIMUM_HOSTS) };
}

/**
 * The hosts that mail may go to, each with what it must prove. DANE precedes MTA-STS, host by host (RFC 8461 section 2): a host
 * with TLSA records must match them whatever the policy, and no certificate replaces that. Records of which none is usable demand
 * encryption only (RFC 7672 section 2.2): they are not a match that could stand in for the policy's certificate.
 */
export function withPolicies(route: Hosts, { policy }: MtaStsState, dane: ReadonlyMap<string, HostDane>): Route {
  const names = route.hosts.map(({ hostName }) => hostName);
  const hosts = route.hosts.flatMap((host): RouteHost[] => {
    const tlsa = dane.get(host.hostName) ?? 'none';
    if (tlsa === 'unknown') return [];
    const isEnforced = policy?.mode === 'enforce';
    if (tlsa !== 'none' && (tlsa.records.length > 0 || !isEnforced)) {
      return [{ ...host, tls: { policy: 'dane', tlsa } }];
    }
    if (!isEnforced) return [host];
    return allowsHost(policy, host.hostName) ? [{ ...host, tls: { policy: 'mta-sts' } }] : [];
  });
  if (hosts.length > 0) return { ...route, hosts };
  return [...dane.values()].includes('unknown') ? tlsaFailure(names) : notInPolicy(names);
}
