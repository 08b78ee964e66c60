import { createHash } from 'node:crypto';
import { ValidationError } from '../../../common/errors/app-error';
import type { Mode } from '../../../common/tenant';
import { isRecord } from '../../../common/is-record';

/** A request, or an item of a batch, that is to take effect once under its key. */
export interface IdempotencyClaim {
  readonly organizationId: string;
  readonly mode: Mode;
  readonly path: string;
  readonly key: string;
  readonly fingerprint: Buffer;
}

/** Unique among keys. */
export function keyName({ organizationId, mode, path, key }: IdempotencyClaim): string {
  return `${organizationId} ${mode} ${path} ${key}`;
}

const PRINTABLE_ASCII = /^[ -~]{1,255}$/;

/** 1 to 255 printable ASCII characters. */
export function isIdempotencyKey(value: unknown): value is string {
  return typeof value === 'string' && PRINTABLE_ASCII.test(value);
}

/**
 * SHA-256 of the canonical JSON (RFC 8785 style: members sorted by name, no white space). The key itself does not count,
 * so that it may come in the header the first time and in the body the next.
 */
export function fingerprint(body: unknown): Buffer {
  const counted = isRecord(body) ? { ...body, idempotencyKey: undefined } : body;
  return createHash('sha256').update(canonicalJson(counted)).digest();
}

/** The body reader has bounded the depth, so plain recursion is safe. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value as Record<string, unknown>)
    .filter(([, member]) => member !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
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
