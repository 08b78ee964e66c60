import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AddressFinder } from './address-finder';
import { compressedStreams } from './compressed-streams';

/** Bytes scanned at a time; even, for UTF-16. */
const WINDOW = 32 * 1024;
/** An address is at most so many times longer in a transport encoding. */
const TRANSPORT = 4;
const MAX_UNPACKED = 32 * 1024 * 1024;
/** A file in a file in a file. */
const MAX_DEPTH = 3;

/** Metadata of bytes. */
export interface ByteSource {
  /** May name a character set. */
  readonly contentType?: string;
}

const CHARSET = /charset\s*=\s*["']?([\w.:-]{1,40})/gi;
const MAX_CHARSETS = 4;
/** RFC 5322 section 2.2.3, and the same in calendars and contacts (RFC 5545, RFC 6350). */
const FOLDING = /\r?\n[ \t]+/g;

/**
 * Whether bytes of any kind hold an address: text in any character set, in UTF-16, quoted-printable or base64, with folded lines, and
 * the same within ZIP, gzip and PDF streams. Not what is encrypted, an image, or text that a PDF draws glyph by glyph.
 * The event loop has its turn every some ten milliseconds; at most 32 MiB are unpacked of all streams.
 */
export async function bytesHold(finder: AddressFinder, bytes: Buffer, source: ByteSource = {}): Promise<boolean> {
  return holdsWithin(finder, bytes, source, { depth: 0, left: MAX_UNPACKED });
}

interface Unpacking {
  readonly depth: number;
  /** Bytes that may still be unpacked. */
  left: number;
}

async function holdsWithin(
  finder: AddressFinder,
  bytes: Buffer,
  source: ByteSource,
  unpacking: Unpacking,
): Promise<boolean> {
  if (await holdsAsText(finder, bytes, source)) return true;
  if (unpacking.depth >= MAX_DEPTH) return false;
  for await (const stream of compressedStreams(bytes, unpacking.left)) {
    unpacking.left -= stream.length;
    const inner = { depth: unpacking.depth + 1, left: unpacking.left };
    if (await holdsWithin(finder, stream, {}, inner)) return true;
    unpacking.left = inner.left;
  }
  return false;
}

async function holdsAsText(finder: AddressFinder, bytes: Buffer, source: ByteSource): Promise<boolean> {
  const charsets = finder.isAscii ? [] : charsetsOf(bytes, source);
  const readers = [readPlain(finder), ...charsets.map(readAs)];
  for (let start = 0; start < bytes.length; start += WINDOW) {
    const window = bytes.subarray(start, start + WINDOW + TRANSPORT * finder.maxLength);
    for (const read of readers) if (await holdsInTransport(finder, read(window))) return true;
  }
  return false;
}

async function holdsInTransport(finder: AddressFinder, text: string): Promise<boolean> {
  if (finder.holdsPlainly(text)) return true;
  await nextTurn();
  if (await finder.holdsLong(text)) return true;
  const unfolded = text.replace(FOLDING, '');
  if (unfolded === text) return false;
  return finder.holdsLong(unfolded);
}

/** ASCII in UTF-16 and UTF-32 of either order is read too, as it has only zeros beside it. */
function readPlain({ isAscii }: AddressFinder): (bytes: Buffer) => string {
  return (bytes) => bytes.toString(isAscii ? 'latin1' : 'utf8').replaceAll('\0', '');
}

function readAs(charset: string): (bytes: Buffer) => string {
  const decoder = new TextDecoder(charset);
  // Without zeros, windows-1252 reads UTF-32 of Latin letters.
  return (bytes) => decoder.decode(bytes).replaceAll('\0', '');
}

/** Those that are named, and those that text is in most often without saying so. */
function charsetsOf(bytes: Buffer, { contentType = '' }: ByteSource): string[] {
  const head = bytes.toString('latin1', 0, WINDOW);
  const named = [contentType, head].flatMap((text) => [...text.matchAll(CHARSET)].map(([, name = '']) => name));
  const known = named.filter(isKnown).slice(0, MAX_CHARSETS);
  return [...new Set([...known, 'windows-1252', 'utf-16le', 'utf-16be'])];
}

function isKnown(charset: string): boolean {
  try {
    return new TextDecoder(charset).encoding !== 'utf-8';
  } catch {
    return false;
  }
}
