import { ValidationError } from '../../../common/errors/app-error';
import { addressKeys } from '../../../common/address-forms';
import { addressKey, parseAddress } from '../../../common/mail-address';
import type { AppConfig } from '../../../config/config';

/** Stands for every local part. */
const WILDCARD = '*';

interface RouteAddress {
  readonly address: string;
  readonly host: string;
}

/**
 * The normal form of a route: `local@domain` in lower case, or `*@domain`.
 * @throws ValidationError
 */
export function parseRouteAddress(text: string): RouteAddress {
  const isWildcard = text.startsWith(`${WILDCARD}@`);
  const parsed = parseAddress(isWildcard ? `any${text.slice(WILDCARD.length)}` : text);
  if (!parsed.ok) throw new ValidationError({ address: [`address ${parsed.message}, or *@ and a domain`] });
  const [localPart = '', host = ''] = addressKey(parsed.email).split('@');
  if (!isWildcard && localPart.includes(WILDCARD)) {
    throw new ValidationError({ address: ['address must be one address, or *@ and a domain'] });
  }
  return { address: `${isWildcard ? WILDCARD : localPart}@${host}`, host };
}

/**
 * Refuses an address at which bounces, complaints and reports come, in any domain: no route would ever get them.
 * @throws ValidationError
 */
export function refuseOwnAddress({ address, host }: RouteAddress, { delivery, dns }: AppConfig): void {
  const isTaken = /^bounce\.[^.]/.test(host) || host === delivery.mailHost.toLowerCase();
  if (!isTaken && address !== dns.dmarcReportAddress.toLowerCase()) return;
  const where = isTaken ? `at ${host}` : 'the one that DMARC reports come to';
  throw new ValidationError({ address: [`address must not be ${where}: the service takes that mail itself`] });
}

/** The addresses under which routes take a recipient's mail: its own, and the wildcard. */
export interface RouteKeys {
  /** As it is written, in lower case. */
  readonly own: string;
  /** In each of its forms. */
  readonly exact: readonly string[];
  readonly wildcard: string;
  readonly host: string;
  /** Each host that takes mail has one (RFC 5321 section 4.5.1). */
  readonly isPostmaster: boolean;
  /** The host and those above it: one of them is the verified domain. */
  readonly names: readonly string[];
}

/** Undefined for what is no address. */
export function routesFor(recipient: string): RouteKeys | undefined {
  const parsed = parseAddress(recipient);
  if (!parsed.ok) return undefined;
  const own = addressKey(parsed.email);
  const host = hostOf(own);
  return {
    ...{ exact: addressKeys(parsed.email), wildcard: `${WILDCARD}@${host}`, names: domainsAbove(host) },
    ...{ own, host, isPostmaster: own === `postmaster@${host}` },
  };
}

/** A local part in quotes that need not be there is the same without them (RFC 5321 section 4.1.2). */
const QUOTED = /^"((?:[^"\\]|\\.){1,128})"(@[^"@]+)$/;

/** A recipient without needless quotes; as it is written when they are needed, so that it is no address that a route can have. */
export function withoutQuotes(recipient: string): string {
  const [, quoted = '', domain = ''] = QUOTED.exec(recipient) ?? [];
  const plain = quoted.replace(/\\(.)/g, '$1') + domain;
  return parseAddress(plain).ok ? plain : recipient;
}

/** The host of what is not an address otherwise, and the names above it; none when it has no such host. */
export function hostsNamedBy(recipient: string): readonly string[] {
  return routesFor(`any${recipient.slice(recipient.lastIndexOf('@'))}`)?.names ?? [];
}

/** Of a route's address, or of a recipient's. */
export function hostOf(address: string): string {
  return address.slice(address.indexOf('@') + 1);
}

/** A host and the names above it that have a dot: where its verified domain may be. */
export function domainsAbove(host: string): string[] {
  const labels = host.split('.');
  return labels.slice(0, -1).map((_label, index) => labels.slice(index).join('.'));
}
