import { createHash } from 'node:crypto';
import type { Response } from 'express';

/** A file that is served from memory. */
export interface StaticFile {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

interface FileOptions {
  readonly type: string;
  /** 0: browsers keep it but ask each time whether it is still the same. */
  readonly maxAgeSeconds: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export function staticFile(content: string | Buffer, { type, maxAgeSeconds, headers }: FileOptions): StaticFile {
  const body = Buffer.from(content);
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`;
  const caching = maxAgeSeconds === 0 ? 'no-cache' : `public, max-age=${maxAgeSeconds}`;
  return { body, headers: { 'content-type': type, etag, 'cache-control': caching, ...headers } };
}

/** Sends the file, or 304 to a client that has it already: Express compares the `ETag`. */
export function sendFile(response: Response, file: StaticFile): void {
  response.set(file.headers).send(file.body);
}
