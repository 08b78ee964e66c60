import type { DeliveryConfig, DnsConfig, HttpConfig } from '../../config/config';

/** The part of the configuration that names hosts. */
interface HostNames {
  readonly delivery: Pick<DeliveryConfig, 'mailHost'>;
  readonly http: Pick<HttpConfig, 'publicUrl'>;
  readonly dns: Pick<DnsConfig, 'dkimZone' | 'nameServerHosts' | 'spfHost' | 'bounceHost' | 'trackingHost'>;
}

/**
 * Whether a name is the service's own: a customer who could publish keys or records for it would speak for the service.
 * @param domain in normal form
 */
export function isOwnName(domain: string, { delivery, dns, http }: HostNames): boolean {
  const { dkimZone, nameServerHosts, spfHost, bounceHost, trackingHost } = dns;
  const hosts = [delivery.mailHost, new URL(http.publicUrl).hostname, spfHost, bounceHost, trackingHost];
  if (hosts.includes(domain) || nameServerHosts.includes(domain)) return true;
  return dkimZone !== undefined && `.${domain}`.endsWith(`.${dkimZone}`);
}
