import { createHash, type KeyObject, X509Certificate } from 'node:crypto';

/** One TLSA record (RFC 6698 section 2.1). */
export interface TlsaRecord {
  readonly usage: number;
  readonly selector: number;
  readonly matchingType: number;
  readonly data: Buffer;
}

/** What a host's TLSA records demand of a connection (RFC 7672). */
export interface TlsaDemand {
  /** The name of the records: sent in the handshake, and the first that certificates are compared with. */
  readonly baseDomain: string;
  /** The recipient's domain, and where its alias leads to: their names in a certificate are as good (section 3.2.2). */
  readonly nextHopNames: readonly string[];
  /** Only those that can be used. None: the connection must be encrypted, whatever server is at its end (section 2.2). */
  readonly records: readonly TlsaRecord[];
  /** Names the records among others. */
  readonly id: string;
}

const TRUST_ANCHOR = 2;
const END_ENTITY = 3;
const FULL = 0;
const SHA_256 = 1;
const SHA_512 = 2;
const DIGESTS: Readonly<Record<number, { readonly name: string; readonly bytes: number }>> = {
  [SHA_256]: { name: 'sha256', bytes: 32 },
  [SHA_512]: { name: 'sha512', bytes: 64 },
};
/** A host has one or two for each of its keys. */
const MAX_RECORDS = 50;
/** Certificates that are looked at; chains have two to four. */
export const MAX_CHAIN = 10;
/** Anchors that are whole certificates: each is tried with each certificate of the chain. */
const MAX_WHOLE_ANCHORS = 4;
const MAX_RSA_BITS = 4096;
const MAX_RSA_EXPONENT = 2n ** 32n;
const CURVES = ['prime256v1', 'secp384r1', 'secp521r1'];

/**
 * @param records all that a host has, in whatever shape
 * @param nextHopNames of the domain that its MX records, proven by DNSSEC, have led from
 */
export function tlsaDemandOf(
  baseDomain: string,
  records: readonly TlsaRecord[],
  nextHopNames: readonly string[] = [],
): TlsaDemand {
  const usable = strongest(records.filter(isUsable)).slice(0, MAX_RECORDS);
  const parts = usable.map(({ usage, selector, matchingType, data }) =>
    [usage, selector, matchingType, data.toString('base64')].join(' '),
  );
  const id = createHash('sha256').update(parts.sort().join('\n')).digest('base64');
  return { baseDomain, nextHopNames, records: usable, id };
}

/** RFC 7672 section 3.1.3: the usages that go by public authorities (0 and 1) have no place in SMTP. */
function isUsable({ usage, selector, matchingType, data }: TlsaRecord): boolean {
  if ((usage !== TRUST_ANCHOR && usage !== END_ENTITY) || (selector !== 0 && selector !== 1)) return false;
  return matchingType === FULL ? data.length > 0 : DIGESTS[matchingType]?.bytes === data.length;
}

/** Of digests for the same purpose, only the strongest count (RFC 7671 section 9). */
function strongest(records: readonly TlsaRecord[]): TlsaRecord[] {
  const hasStronger = ({ usage, selector, matchingType }: TlsaRecord) =>
    matchingType === SHA_256 &&
    records.some((other) => other.usage === usage && other.selector === selector && other.matchingType === SHA_512);
  return records.filter((record) => !hasStronger(record));
}

/** That a chain of certificates matches the records. */
export interface TlsaProof {
  /** Set when it holds for the mail of this domain only: of all names accepted, the certificate has this one. */
  readonly nextHopName?: string;
}

/**
 * Undefined when a chain of certificates does not match the records (RFC 7671 section 5). With DANE-EE the key alone counts;
 * with DANE-TA the leaf must be valid now, have one of the names, and lead to the anchor.
 * @param chain in DER, the leaf first
 */
export function proofByTlsa(demand: TlsaDemand, chain: readonly Buffer[], now: Date): TlsaProof | undefined {
  const { records, baseDomain, nextHopNames } = demand;
  const certificates = parse(chain);
  const [leaf] = certificates;
  if (leaf === undefined) return undefined;
  if (records.some((record) => record.usage === END_ENTITY && isFor(record, leaf))) return {};
  const anchors = records.filter(({ usage }) => usage === TRUST_ANCHOR);
  if (anchors.length === 0 || !isValid(leaf, now) || !leadsToAnchor(certificates, anchors, now)) return undefined;
  if (hasName(leaf, baseDomain)) return {};
  const nextHopName = nextHopNames.find((name) => hasName(leaf, name));
  return nextHopName === undefined ? undefined : { nextHopName };
}

/** RFC 7672 section 3.2.3: a wildcard stands for the whole first label; the common name counts where there are no others. */
function hasName(leaf: X509Certificate, name: string): boolean {
  return leaf.checkHost(name, { partialWildcards: false }) !== undefined;
}

/** From the leaf upwards, each signed by the next, until one is an anchor. */
function leadsToAnchor(chain: readonly X509Certificate[], anchors: readonly TlsaRecord[], now: Date): boolean {
  const whole = wholeAnchors(anchors);
  for (const [index, certificate] of chain.entries()) {
    if (anchors.some((record) => isFor(record, certificate))) return true;
    if (whole.some((anchor) => isIssuedBy(certificate, anchor))) return true;
    const issuer = chain[index + 1];
    if (issuer === undefined || !isIssuedBy(certificate, issuer) || !isValid(issuer, now)) return false;
  }
  return false;
}

/** An anchor that is a whole certificate need not be in the chain (RFC 7671 section 5.2.2). */
function wholeAnchors(anchors: readonly TlsaRecord[]): X509Certificate[] {
  const whole = anchors.filter(({ selector, matchingType }) => selector === 0 && matchingType === FULL);
  return whole.slice(0, MAX_WHOLE_ANCHORS).flatMap(({ data }) => parse([data]));
}

function isIssuedBy(certificate: X509Certificate, issuer: X509Certificate): boolean {
  try {
    const { publicKey } = issuer;
    return issuer.ca && certificate.checkIssued(issuer) && isUsual(publicKey) && certificate.verify(publicKey);
  } catch {
    return false;
  }
}

/** A signature by another may take 10 ms to check: an RSA exponent can be as long as the modulus, and some curves are slow. */
function isUsual({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): boolean {
  const { modulusLength = Infinity, publicExponent = MAX_RSA_EXPONENT, namedCurve = '' } = asymmetricKeyDetails;
  if (asymmetricKeyType === 'rsa') return modulusLength <= MAX_RSA_BITS && publicExponent < MAX_RSA_EXPONENT;
  return asymmetricKeyType === 'ed25519' || (asymmetricKeyType === 'ec' && CURVES.includes(namedCurve));
}

function isValid({ validFrom, validTo }: X509Certificate, now: Date): boolean {
  return Date.parse(validFrom) <= now.getTime() && now.getTime() <= Date.parse(validTo);
}

function isFor({ selector, matchingType, data }: TlsaRecord, certificate: X509Certificate): boolean {
  const whole = selector === 0 ? certificate.raw : keyOf(certificate);
  if (whole === undefined) return false;
  const digest = DIGESTS[matchingType];
  return data.equals(digest === undefined ? whole : createHash(digest.name).update(whole).digest());
}

/** Undefined when it is of a kind that the platform cannot read. */
function keyOf(certificate: X509Certificate): Buffer | undefined {
  try {
    return certificate.publicKey.export({ type: 'spki', format: 'der' });
  } catch {
    return undefined;
  }
}

/** Up to the first that is not one. */
function parse(chain: readonly Buffer[]): X509Certificate[] {
  const certificates: X509Certificate[] = [];
  try {
    for (const der of chain.slice(0, MAX_CHAIN)) certificates.push(new X509Certificate(der));
  } catch {
    // A chain ends where it cannot be read.
  }
  return certificates;
}

/** Of those that are shown. */
const MAX_SHOWN_RECORDS = 20;
/** A digest has 128 characters; whole certificates are cut. */
const MAX_DATA_CHARACTERS = 2_000;

/** TLSA records as zones are written (RFC 6698 section 2.2), one a line. */
export function textOfRecords({ records }: Pick<TlsaDemand, 'records'>): string {
  const lines = records.slice(0, MAX_SHOWN_RECORDS).map(({ usage, selector, matchingType, data }) => {
    const hex = data.toString('hex').toUpperCase().slice(0, MAX_DATA_CHARACTERS);
    return `${usage} ${selector} ${matchingType} ${hex}`;
  });
  return lines.sort().join('\n');
}
