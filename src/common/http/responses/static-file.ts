import { createHash } from 'node:crypto';
import type { Request, Response } from 'express';

/** A file that is served from memory. */
export interface StaticFile {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

interface FileOptions {
  readonly type: string;
  /** 0: browsers keep it but check each time whether it is still the same. */
  readonly maxAgeSeconds: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A file with its headers; the ETag is the SHA-256 of its bytes. */
export function staticFile(content: string | Buffer, { type, maxAgeSeconds, headers }: FileOptions): StaticFile {
  const body = Buffer.from(content);
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  const caching = maxAgeSeconds === 0 ? 'no-cache' : `public, max-age=${maxAgeSeconds}`;
  return { body, headers: { 'content-type': type, etag, 'cache-control': caching, ...headers } };
}

/**
 * Sends the file, or 304 to a client that has it already (RFC 9110 section 13.1.2). Express's own comparison gives way to
 * a `Cache-Control: no-cache` of the request, which `fetch` adds to every conditional one.
 */
export function sendFile(request: Request, response: Response, file: StaticFile): void {
  response.set(file.headers);
  if (isKnown(request.headers['if-none-match'], file.headers.etag)) response.status(304).send();
  else response.send(file.body);
}

function isKnown(header: string | undefined, etag: string | undefined): boolean {
  const known = (header ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return known.some((tag) => tag === '*' || tag === etag);
}
