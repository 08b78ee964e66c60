import { isIPv6 } from 'node:net';
import type { PortVariable } from '../common/network';
import type { Role } from './config';
import type { Environment } from './environment';
import { hostOf, parseRoles } from './to-config';

interface Listener {
  readonly variable: PortVariable;
  readonly host: string;
}

/**
 * Two listeners of this process on one port: the second one to open would blame another process, which is not to be found. Listeners of
 * other roles are in other processes.
 */
export function portProblems(environment: Environment): string[] {
  const listeners = listenersOf(environment);
  return listeners.flatMap(({ variable, host }, index) => {
    const port = environment[variable];
    const other = listeners
      .slice(0, index)
      .find((one) => port !== 0 && environment[one.variable] === port && overlap(one.host, host));
    if (other === undefined) return [];
    return [`${variable} and ${other.variable} must differ: this process cannot listen on port ${port} twice`];
  });
}

function listenersOf(environment: Environment): Listener[] {
  const { METRICS_HOST, DKIM_ZONE, TLS_CERT_FILE, DELIVERY_MODE } = environment;
  const hasCertificate = TLS_CERT_FILE !== undefined || DELIVERY_MODE === 'local';
  const ofRole: Record<Role, readonly PortVariable[]> = {
    api: ['PORT'],
    worker: [],
    inbound: ['INBOUND_SMTP_PORT'],
    dns: DKIM_ZONE === undefined ? [] : ['DNS_PORT'],
    submission: hasCertificate ? ['SUBMISSION_PORT', 'SUBMISSIONS_PORT'] : ['SUBMISSION_PORT'],
  };
  const host = hostOf(environment);
  const ofRoles = parseRoles(environment.WAYBILL_ROLES).flatMap((role) => ofRole[role]);
  return [...ofRoles.map((variable) => ({ variable, host })), { variable: 'METRICS_PORT', host: METRICS_HOST }];
}

/** Two addresses, or names, of which nothing is known, may both be listened on. */
function overlap(one: string, other: string): boolean {
  if (one === other || [one, other].includes('::')) return true;
  return (one === '0.0.0.0' && !isIPv6(other)) || (other === '0.0.0.0' && !isIPv6(one));
}
