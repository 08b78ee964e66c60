import { createHash } from 'node:crypto';
import { endOfPiece, EVENT_LOOP } from '../../../../common/async/fair-turns';
import { ValidationError } from '../../../../common/errors/app-error';
import type { Mode } from '../../../../common/tenant';
import { isRecord, sizeOfValue } from '../../../../common/values';

/** A request, or an item of a batch, that must take effect only once under its key. */
export interface IdempotencyClaim {
  readonly organizationId: string;
  readonly mode: Mode;
  readonly path: string;
  readonly key: string;
  readonly fingerprint: Buffer;
  /** It covers a batch, which always returns 202: its response is stored whatever became of the items. */
  readonly ofBatch?: true;
}

/** A unique text for a claim's key. */
export function keyName({ organizationId, mode, path, key }: IdempotencyClaim): string {
  return `${organizationId} ${mode} ${path} ${key}`;
}

/** The replacement of a key that contains the address of an erased person; no client's key can start with its first character. */
export function hashedKey(key: string): string {
  return `\u00a7sha256:${createHash('sha256').update(key).digest('hex')}`;
}

const PRINTABLE_ASCII = /^[ -~]{1,255}$/;

/** 1 to 255 printable ASCII characters. */
export function isIdempotencyKey(value: unknown): value is string {
  return typeof value === 'string' && PRINTABLE_ASCII.test(value);
}

/**
 * SHA-256 of the canonical JSON (as in RFC 8785: members sorted by name, no white space), without the key itself, which may be
 * in the header of one request and in the body of the next.
 */
export function fingerprint(body: unknown): Buffer {
  return createHash('sha256')
    .update(canonicalJson(counted(body)))
    .digest();
}

/** Characters that are serialized and hashed in one turn of the event loop, about a millisecond. */
const PIECE = 128 * 1024;

/** The same, in several turns of the event loop for a large body. @param holder whose turns these are */
export async function fingerprintInTurns(body: unknown, holder: string): Promise<Buffer> {
  if (sizeOfValue(body, PIECE) < PIECE) return fingerprint(body);
  const hash = createHash('sha256');
  let pending = '';
  for (const piece of canonicalPieces(counted(body))) {
    pending += piece;
    if (pending.length < PIECE) continue;
    await EVENT_LOOP.next(holder);
    hash.update(pending);
    pending = '';
  }
  return hash.update(pending).digest();
}

/** The canonical JSON in pieces; long texts are split. */
function* canonicalPieces(value: unknown): Generator<string> {
  if (typeof value === 'string' && value.length > PIECE) yield* piecesOfText(value);
  else if (typeof value !== 'object' || value === null) yield canonicalJson(value);
  else yield* Array.isArray(value) ? piecesOfArray(value) : piecesOfObject(value as Record<string, unknown>);
}

function* piecesOfText(text: string): Generator<string> {
  yield '"';
  for (let at = 0, end: number; at < text.length; at = end) {
    end = endOfPiece(text, at, PIECE);
    yield JSON.stringify(text.slice(at, end)).slice(1, -1);
  }
  yield '"';
}

function* piecesOfArray(elements: readonly unknown[]): Generator<string> {
  for (const [index, element] of elements.entries()) {
    yield index === 0 ? '[' : ',';
    yield* canonicalPieces(element);
  }
  yield elements.length === 0 ? '[]' : ']';
}

function* piecesOfObject(members: Record<string, unknown>): Generator<string> {
  const names = namesOf(members);
  for (const [index, name] of names.entries()) {
    yield `${index === 0 ? '{' : ','}${JSON.stringify(name)}:`;
    yield* canonicalPieces(members[name]);
  }
  yield names.length === 0 ? '{}' : '}';
}

/** Member names sorted by UTF-16 code units (RFC 8785 section 3.2.3). */
function namesOf(members: Record<string, unknown>): string[] {
  return Object.keys(members)
    .filter((name) => members[name] !== undefined)
    .sort();
}

function counted(body: unknown): unknown {
  return isRecord(body) ? { ...body, idempotencyKey: undefined } : body;
}

/** The canonical JSON as one text. Recursion is safe, since the body reader limits the depth. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = value as Record<string, unknown>;
  return `{${namesOf(members)
    .map((name) => `${JSON.stringify(name)}:${canonicalJson(members[name])}`)
    .join(',')}}`;
}

/**
 * The key of a request from its header and its body field; if both are given they must agree.
 * @throws ValidationError
 */
export function idempotencyKeyOf(header: string | string[] | undefined, field: string | undefined): string | undefined {
  if (header === undefined) return field;
  if (!isIdempotencyKey(header)) {
    throw new ValidationError({
      'X-Idempotency-Key': ['X-Idempotency-Key must be 1 to 255 printable ASCII characters'],
    });
  }
  if (field !== undefined && field !== header) {
    throw new ValidationError({ idempotencyKey: ['idempotencyKey must equal the header X-Idempotency-Key'] });
  }
  return header;
}
