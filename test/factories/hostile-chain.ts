import { generateKeyPairSync, randomBytes } from 'node:crypto';

/** DER (X.690): a tag, the length, the content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => der(0x30, ...parts);
const positive = (bytes: Buffer): Buffer =>
  der(2, (bytes[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes);
const bits = (bytes: Buffer): Buffer => der(3, Buffer.of(0), bytes);
const nameOf = (text: string): Buffer =>
  sequence(der(0x31, sequence(Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from(text)))));

const RSA = sequence(Buffer.from('06092a864886f70d010101', 'hex'), Buffer.from('0500', 'hex'));
const SHA256_RSA = sequence(Buffer.from('06092a864886f70d01010b', 'hex'), Buffer.from('0500', 'hex'));
const VALID = sequence(der(0x17, Buffer.from('200101000000Z')), der(0x17, Buffer.from('491231000000Z')));
const IS_AUTHORITY = der(
  0xa3,
  sequence(
    sequence(Buffer.from('0603551d13', 'hex'), der(1, Buffer.of(255)), der(4, sequence(der(1, Buffer.of(255))))),
  ),
);
const KEY_BYTES = 384;

function oddNumber(first: number): Buffer {
  const bytes = randomBytes(KEY_BYTES);
  bytes[0] = first;
  bytes[KEY_BYTES - 1] = (bytes[KEY_BYTES - 1] ?? 0) | 1;
  return bytes;
}

/** A key whose exponent is as long as its modulus, so that a signature takes 8 ms to check. Its private part is not needed. */
function costlyKey(): Buffer {
  return sequence(RSA, bits(sequence(positive(oddNumber(0xff)), positive(oddNumber(0x7f)))));
}

function certificate(serial: number, subject: string, issuer: string, key: Buffer): string {
  const content = sequence(
    ...[der(0xa0, positive(Buffer.of(2))), positive(Buffer.of(serial)), SHA256_RSA],
    ...[nameOf(issuer), VALID, nameOf(subject), key, IS_AUTHORITY],
  );
  const signed = sequence(content, SHA256_RSA, bits(oddNumber(0x7f)));
  const lines = signed.toString('base64').replace(/.{64}/g, '$&\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

/** A certificate for a server, with a chain of authorities of about 1.3 KB each, whose signatures are all wrong and costly to check. */
export function hostileChain(authorities: number): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const own = publicKey.export({ type: 'spki', format: 'der' });
  const chain = Array.from({ length: authorities }, (_, at) =>
    certificate(at + 2, `N${at}`, `N${at + 1}`, costlyKey()),
  );
  return { key, cert: [certificate(1, 'hostile.example', 'N0', own), ...chain].join('') };
}
