import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { DAY } from '../clock';

/** PEM. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

const VALID_MS = 825 * DAY;
const TAGS = { integer: 2, bitString: 3, octetString: 4, oid: 6, utf8: 12, utcTime: 23, sequence: 48, set: 49 };
/** Context-specific tags of RFC 5280: version, extensions; of a name, and of an address. */
const VERSION = 0xa0;
const EXTENSIONS = 0xa3;
const DNS_NAME = 0x82;
const IP_ADDRESS = 0x87;

/**
 * A certificate for this machine's own names that no authority has signed (RFC 5280), for local mode: Node makes keys, but no
 * certificates, and what a library would add is these sixty lines.
 * @param hostNames further names, for tests
 */
export function selfSigned(now: Date, hostNames: readonly string[] = []): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(oid('2a8648ce3d040302'));
  const name = sequence(der(TAGS.set, sequence(oid('550403'), der(TAGS.utf8, Buffer.from('localhost')))));
  const names = sequence(
    ...['localhost', ...hostNames].map((name) => der(DNS_NAME, Buffer.from(name))),
    der(IP_ADDRESS, Buffer.from([127, 0, 0, 1])),
    der(IP_ADDRESS, Buffer.from([...Array<number>(15).fill(0), 1])),
  );
  const toBeSigned = sequence(
    der(VERSION, der(TAGS.integer, Buffer.from([2]))),
    der(TAGS.integer, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    name,
    sequence(utcTime(now), utcTime(new Date(now.getTime() + VALID_MS))),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(EXTENSIONS, sequence(sequence(oid('551d11'), der(TAGS.octetString, names)))),
  );
  const signature = sign('sha256', toBeSigned, privateKey);
  const bytes = sequence(toBeSigned, algorithm, der(TAGS.bitString, Buffer.concat([Buffer.from([0]), signature])));
  return { key: pemOf(privateKey), cert: toPem(bytes) };
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function toPem(bytes: Buffer): string {
  const lines = bytes.toString('base64').replace(/.{64}/g, '$&\n');
  return `-----BEGIN CERTIFICATE-----\n${lines.trimEnd()}\n-----END CERTIFICATE-----\n`;
}

/** Tag, length and value (X.690 section 8.1). */
function der(tag: number, value: Buffer): Buffer {
  const { length } = value;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), value]);
  const octets = length > 0xff ? [0x82, length >> 8, length & 0xff] : [0x81, length];
  return Buffer.concat([Buffer.from([tag, ...octets]), value]);
}

function sequence(...values: readonly Buffer[]): Buffer {
  return der(TAGS.sequence, Buffer.concat(values));
}

function oid(hex: string): Buffer {
  return der(TAGS.oid, Buffer.from(hex, 'hex'));
}

function utcTime(time: Date): Buffer {
  const digits = time
    .toISOString()
    .replace(/[-:T]|\.\d+/g, '')
    .slice(2);
  return der(TAGS.utcTime, Buffer.from(digits));
}
