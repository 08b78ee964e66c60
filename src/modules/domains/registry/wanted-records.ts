import type { DnsConfig } from '../../../config/config';
import type { Domain } from './domain.entity';

export const RECORD_PURPOSES = ['verification', 'dkim', 'spf', 'dmarc', 'return_path', 'tracking', 'inbound'] as const;

export type RecordPurpose = (typeof RECORD_PURPOSES)[number];

/** A DNS record that a customer should publish. */
export interface WantedRecord {
  readonly purpose: RecordPurpose;
  readonly type: 'TXT' | 'CNAME' | 'MX';
  /** Fully qualified, lower case, without the last dot. */
  readonly host: string;
  readonly value: string;
  readonly ttlSeconds: number;
  /** Only for MX records. */
  readonly priority?: number;
}

/** The result of checking a wanted record in DNS. `unreachable`: SERVFAIL or a timeout, so the state is unknown. */
export type RecordCheck =
  | { readonly result: 'verified' }
  | { readonly result: 'missing' | 'wrong' | 'unreachable'; readonly problem: string };

type NamedDomain = Pick<Domain, 'id' | 'domain' | 'verificationToken'>;
/** A key whose record must be in DNS. */
interface PublishedKey {
  readonly selector: string;
  /** Base64 of the DER public key. */
  readonly publicKey: string;
}

/** With a delegated zone, keys alternate between two selectors, so that the customer's two CNAME records never change. */
export const ALTERNATING_SELECTORS = ['wb1', 'wb2'] as const;

const TTL_SECONDS = 300;
const MX_PRIORITY = 10;

/**
 * The records that a domain's owner should publish, in the order in which to set them up.
 * @param keys all keys to be published, oldest first; in a delegated zone the responder publishes them
 */
export function wantedRecords(domain: NamedDomain, keys: readonly PublishedKey[], dns: DnsConfig): WantedRecord[] {
  const name = domain.domain;
  return [
    text('verification', `_waybill.${name}`, `waybill-verification=${domain.verificationToken}`),
    ...dkimRecords(domain, keys, dns),
    text('spf', name, `v=spf1 include:${dns.spfHost} ~all`),
    text('dmarc', `_dmarc.${name}`, `v=DMARC1; p=none; rua=mailto:${dns.dmarcReportAddress}`),
    alias('return_path', returnPathHostOf(name), dns.bounceHost),
    alias('tracking', trackingHostOf(name), dns.trackingHost),
  ];
}

/** The MX record of one inbound host; only domains with routes have any. */
export function inboundRecords(hosts: readonly string[], mailHost: string): WantedRecord[] {
  return hosts.map((host) => ({
    ...{ purpose: 'inbound', type: 'MX', host, value: mailHost },
    ...{ ttlSeconds: TTL_SECONDS, priority: MX_PRIORITY },
  }));
}

/** Host of the envelope sender, used once its record is found; the bounce listener accepts genuine return paths at any such host. */
export function returnPathHostOf(domain: string): string {
  return `bounce.${domain}`;
}

/** Host of tracked links, used once its record is found. */
export function trackingHostOf(domain: string): string {
  return `click.${domain}`;
}

/** The TXT record of a key (RFC 6376 section 3.6.1), as the responder publishes it for a delegated zone. */
export function dkimRecordText(publicKey: string): string {
  return `v=DKIM1; k=rsa; p=${publicKey}`;
}

/** The name under which the responder publishes the key of a selector. */
function delegatedKeyHost(selector: string, domainId: string, dkimZone: string): string {
  return `${selector}.${domainId}.${dkimZone}`;
}

/** Keys created before the zone was delegated keep their TXT record until a rotation replaces them. */
function dkimRecords({ id, domain }: NamedDomain, keys: readonly PublishedKey[], { dkimZone }: DnsConfig) {
  const host = (selector: string): string => `${selector}._domainkey.${domain}`;
  const texts = keys.map(({ selector, publicKey }) => text('dkim', host(selector), dkimRecordText(publicKey)));
  if (dkimZone === undefined) return texts;
  const aliases = ALTERNATING_SELECTORS.map((selector) =>
    alias('dkim', host(selector), delegatedKeyHost(selector, id, dkimZone)),
  );
  return [...aliases, ...texts.filter((record) => !aliases.some((other) => other.host === record.host))];
}

function text(purpose: RecordPurpose, host: string, value: string): WantedRecord {
  return { purpose, type: 'TXT', host, value, ttlSeconds: TTL_SECONDS };
}

function alias(purpose: RecordPurpose, host: string, value: string): WantedRecord {
  return { purpose, type: 'CNAME', host, value, ttlSeconds: TTL_SECONDS };
}
