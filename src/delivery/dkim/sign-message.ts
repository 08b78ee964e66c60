import { type KeyObject, sign } from 'node:crypto';
import { OUTGOING } from '../../common/async/fair-turns';
import { concatInTurns } from '../../common/mime/body-parts';
import type { SigningKey } from '../ports/sources';
import { type FieldRange, type ParsedHeader, parseHeader, signedData } from '../../common/mime/header-fields';
import { relaxedBodyHash } from './relaxed-body';

export interface SignOptions {
  /** For `t=`. The message's date rather than the time of the attempt, so that every attempt sends the same bytes. */
  readonly signedAt: Date;
  /** For `i=`, before its @: names the email where its Message-ID is the customer's own. */
  readonly identity?: string;
  /** In the event loop, not behind all that waits for the thread pool. */
  readonly isUrgent?: boolean;
}

/** How long a signature counts (`x=`): over the four days of retries, and short against replay. */
const VALIDITY_SECONDS = 7 * 24 * 3_600;
const LINE_WIDTH = 76;
const BASE64_WIDTH = 72;
const FIELD_NAME = 'DKIM-Signature';

/**
 * Signs a message with DKIM, rsa-sha256, relaxed/relaxed (RFC 6376, RFC 8301), and puts the signature before it.
 *
 * The private-key operation (0.25 ms of RSA-2048 each) runs in the thread pool, unless it is urgent, and bodies are hashed in
 * slices, so the event loop never stalls. The same message, key and time give the same bytes.
 *
 * @param message as `composeMessage` gives it: CRLF only
 * @throws TypeError for a key that is not RSA and for bytes that are not a message
 */
export async function signMessage(message: Buffer, key: SigningKey, options: SignOptions): Promise<Buffer> {
  return concatInTurns([await signatureOf(message, key, options), message], OUTGOING);
}

/** The signature alone, as a header field with its line end, to be put before the message. */
export async function signatureOf(message: Buffer, key: SigningKey, options: SignOptions): Promise<Buffer> {
  const header = parseHeader(message);
  return signatureField(header, await relaxedBodyHash(message, header.bodyStart), key, options);
}

/** One signature; body hash and parsed header serve any number of keys. */
async function signatureField(
  header: ParsedHeader,
  bodyHash: string,
  key: SigningKey,
  options: SignOptions,
): Promise<Buffer> {
  const signed = fieldsToSign(header);
  const unsigned = unsignedField(key, options, signed.names, bodyHash);
  const data = signedData(header, signed.ranges, Buffer.from(unsigned, 'latin1'));
  const signature = await signRsaSha256(data, key.privateKey, options.isUrgent);
  return Buffer.from(`${unsigned}${foldBase64(signature.toString('base64'))}\r\n`, 'latin1');
}

function unsignedField(
  key: SigningKey,
  { signedAt, identity }: SignOptions,
  names: readonly string[],
  bodyHash: string,
): string {
  const time = Math.floor(signedAt.getTime() / 1_000);
  const tags = [
    `${FIELD_NAME}: v=1; a=rsa-sha256; c=relaxed/relaxed;`,
    `d=${key.domain}; s=${key.selector};${identity === undefined ? '' : ` i=${identity}@${key.domain};`}`,
    `t=${time}; x=${time + VALIDITY_SECONDS};`,
    `${foldNames(names)};`,
    `bh=${bodyHash};`,
    'b=',
  ];
  return tags.join('\r\n ');
}

/** RFC 6376 section 3.5: folding is allowed around the colons of `h=`. */
function foldNames(names: readonly string[]): string {
  let text = 'h=';
  let column = text.length;
  for (const [index, name] of names.entries()) {
    const item = index === 0 ? name : `:${name}`;
    const fits = column + item.length < LINE_WIDTH;
    text += fits ? item : `\r\n ${item}`;
    column = (fits ? column : 1) + item.length;
  }
  return text;
}

function foldBase64(text: string): string {
  let folded = text.slice(0, BASE64_WIDTH);
  for (let at = BASE64_WIDTH; at < text.length; at += BASE64_WIDTH) {
    folded += `\r\n ${text.slice(at, at + BASE64_WIDTH)}`;
  }
  return folded;
}

async function signRsaSha256(data: Buffer, privateKey: KeyObject, isUrgent = false): Promise<Buffer> {
  if (privateKey.asymmetricKeyType !== 'rsa') throw new TypeError('Only RSA keys can sign with rsa-sha256');
  if (isUrgent) return sign('sha256', data, privateKey);
  return new Promise((resolve, reject) => {
    sign('sha256', data, privateKey, (error, signature) => {
      if (error) reject(error);
      else resolve(signature);
    });
  });
}

/**
 * Signed once more than they occur, so that none can be added under a signature that still verifies (RFC 6376 section
 * 8.15): a second From or Subject is what a reader would be shown.
 */
const ALWAYS = ['From', 'To', 'Subject', 'Date', 'Reply-To', 'Message-ID', 'MIME-Version', 'Content-Type'];
/** The same once they occur; a forwarder may add the absent ones. */
const IF_PRESENT = [
  'Cc',
  'Content-Transfer-Encoding',
  'In-Reply-To',
  'References',
  'List-Id',
  'List-Unsubscribe',
  'List-Unsubscribe-Post',
  'Feedback-ID',
];

interface SignedFields {
  /** For `h=`. */
  readonly names: readonly string[];
  /** In the order of `names`; a name beyond the last occurrence signs nothing (RFC 6376 section 5.4). */
  readonly ranges: readonly FieldRange[];
}

/** Chooses the fields to sign. Several of one name are taken from the last up (RFC 6376 section 5.4.2). */
function fieldsToSign({ fields }: ParsedHeader): SignedFields {
  const present = IF_PRESENT.filter((name) => fields.has(name.toLowerCase()));
  const names: string[] = [];
  const ranges: FieldRange[] = [];
  for (const name of [...ALWAYS, ...present]) {
    const occurrences = fields.get(name.toLowerCase()) ?? [];
    for (const range of occurrences.toReversed()) {
      names.push(name);
      ranges.push(range);
    }
    names.push(name);
  }
  return { names, ranges };
}
