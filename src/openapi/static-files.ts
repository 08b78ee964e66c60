import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Request, Response } from 'express';
import { contentType } from 'mime-types';

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

const DAY_SECONDS = 24 * 60 * 60;

/** What the page needs of `swagger-ui-dist`; nothing else of it is served. */
const ASSETS = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-16x16.png', 'favicon-32x32.png'];

/** Swagger UI's files, read at the first request and kept in memory. */
export class SwaggerUiAssets {
  private readonly files = new Map<string, Promise<StaticFile>>();

  /** @returns undefined for a name that is not on the list. */
  async find(name: string): Promise<StaticFile | undefined> {
    const type = ASSETS.includes(name) && contentType(name);
    if (!type) return undefined;
    const file = this.files.get(name) ?? read(name, type);
    this.files.set(name, file);
    return file;
  }
}

async function read(name: string, type: string): Promise<StaticFile> {
  return staticFile(await readFile(join(folder(), name)), { type, maxAgeSeconds: DAY_SECONDS });
}

/** It is a dependency of @nestjs/swagger and may be installed below it. */
function folder(): string {
  const swagger = createRequire(require.resolve('@nestjs/swagger'));
  return dirname(swagger.resolve('swagger-ui-dist/package.json'));
}
