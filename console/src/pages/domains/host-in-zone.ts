import type { Domain } from '../../api/types';

/** The name as providers want it that append their zone: without the registrable domain. */
export function hostInZone(host: string, { domain, subdomain }: Pick<Domain, 'domain' | 'subdomain'>): string {
  const zone = subdomain ? domain.slice(subdomain.length + 1) : domain;
  if (host === zone) return '@';
  return host.endsWith(`.${zone}`) ? host.slice(0, -zone.length - 1) : host;
}
