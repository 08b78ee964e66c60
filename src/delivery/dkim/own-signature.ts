import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { type FieldRange, type ParsedHeader, parseHeader, signedData } from '../../common/mime/header-fields';
import { relaxedBodyHash } from './relaxed-body';

/** A DKIM signature in the form that `signMessage` writes, found in a message that comes back. */
export interface OwnSignature {
  /** The `d=` of the signature. */
  readonly domain: string;
  /** The `s=` of the signature. */
  readonly selector: string;
  readonly signedAt: Date;
  /** What stands before the @ of the `i=`, or of the signed Message-ID: the email's id. */
  readonly identity: string;
}

interface Candidate extends OwnSignature {
  readonly header: ParsedHeader;
  readonly ranges: readonly FieldRange[];
  /** The signature field with an empty `b=`. */
  readonly unsigned: Buffer;
  readonly signature: Buffer;
  readonly bodyHash: string;
}

/** Mail of this service has one signature; forwarders add theirs. */
const MAX_SIGNATURES = 5;
/** `signMessage` signs about twenty. */
const MAX_SIGNED_FIELDS = 100;
const NEEDED_TAGS = ['d', 's', 't', 'h', 'b', 'bh'] as const;
const MESSAGE_ID = /^\s*<([^<>\s]{1,320})>\s*$/;

/**
 * Finds which of our signatures a message bears, header and body unchanged. Its `x=` does not count: it is there against
 * replay, and complaints come late.
 *
 * @param message bytes with CRLF, which any client may have made up
 * @param keyOf the public key (base64 of its DER form) that we have published under a name; undefined for any other name
 */
export async function findOwnSignature(
  message: Buffer,
  keyOf: (signature: OwnSignature) => Promise<string | undefined>,
): Promise<OwnSignature | undefined> {
  for (const candidate of readSignatures(message)) {
    const publicKey = await keyOf(candidate);
    if (publicKey !== undefined && (await holds(candidate, publicKey))) return candidate;
  }
  return undefined;
}

/** The cheap half first: most that is altered is altered in the header. */
async function holds(candidate: Candidate, publicKey: string): Promise<boolean> {
  const { header, ranges, unsigned, signature, bodyHash } = candidate;
  const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
  if (!(await verifyRsaSha256(signedData(header, ranges, unsigned), key, signature))) return false;
  return (await relaxedBodyHash(header.bytes, header.bodyStart)) === bodyHash;
}

function readSignatures(message: Buffer): Candidate[] {
  const header = tryParse(message);
  const fields = header?.fields.get('dkim-signature') ?? [];
  return header ? fields.slice(0, MAX_SIGNATURES).flatMap((field) => readSignature(header, field) ?? []) : [];
}

function tryParse(message: Buffer): ParsedHeader | undefined {
  try {
    return parseHeader(message);
  } catch {
    return undefined;
  }
}

/** Undefined for whatever `signMessage` would not have written. */
function readSignature(header: ParsedHeader, field: FieldRange): Candidate | undefined {
  const text = header.bytes.toString('latin1', field.colon + 1, field.end);
  const tags = readTags(text);
  const identity = (tags.i ?? signedMessageId(header, tags.h))?.split('@')[0];
  if (!isOurForm(tags) || identity === undefined) return undefined;
  const name = header.bytes.toString('latin1', field.start, field.colon + 1);
  return {
    header,
    domain: tags.d.toLowerCase(),
    selector: tags.s,
    signedAt: new Date(Number(tags.t) * 1_000),
    identity,
    ranges: rangesOf(header, tags.h),
    unsigned: Buffer.from(name + text.replace(/((?:^|;)\s*b\s*=)[^;]*/, '$1'), 'latin1'),
    signature: Buffer.from(tags.b, 'base64'),
    bodyHash: tags.bh,
  };
}

type Tags = Readonly<Record<string, string | undefined>>;

/** Any other algorithm, and a signature over a part of the body (`l=`), is of another signer. */
function isOurForm(tags: Tags): tags is Tags & Record<(typeof NEEDED_TAGS)[number], string> {
  const isKnown = tags.v === '1' && tags.a === 'rsa-sha256' && tags.c === 'relaxed/relaxed' && tags.l === undefined;
  return isKnown && NEEDED_TAGS.every((name) => tags[name]) && /^\d{1,12}$/.test(tags.t ?? '');
}

/** RFC 6376 section 3.2; white space counts in none of the tags that are used here. */
function readTags(text: string): Tags {
  const pairs = text.split(';').map((tag) => {
    const equals = tag.indexOf('=');
    return [tag.slice(0, equals).trim(), tag.slice(equals + 1).replace(/\s+/g, '')] as const;
  });
  return Object.fromEntries(pairs);
}

/** Only a field that is signed and occurs once: otherwise a reader could be shown another one. */
function signedMessageId({ bytes, fields }: ParsedHeader, names = ''): string | undefined {
  const [field, ...others] = fields.get('message-id') ?? [];
  if (!field || others.length > 0 || !names.toLowerCase().split(':').includes('message-id')) return undefined;
  return MESSAGE_ID.exec(bytes.toString('latin1', field.colon + 1, field.end))?.[1];
}

/** RFC 6376 section 5.4.2: several of one name from the last up; one that is not there signs nothing. */
function rangesOf({ fields }: ParsedHeader, names: string): FieldRange[] {
  const taken = new Map<string, number>();
  return names
    .toLowerCase()
    .split(':')
    .slice(0, MAX_SIGNED_FIELDS)
    .flatMap((name) => {
      const count = (taken.get(name) ?? 0) + 1;
      taken.set(name, count);
      return fields.get(name)?.at(-count) ?? [];
    });
}

function verifyRsaSha256(data: Buffer, key: KeyObject, signature: Buffer): Promise<boolean> {
  return new Promise((resolve, reject) => {
    verify('sha256', data, key, signature, (error, isValid) => {
      if (error) reject(error);
      else resolve(isValid);
    });
  });
}
