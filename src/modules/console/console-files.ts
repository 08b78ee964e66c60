import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import { contentType } from 'mime-types';
import { NotFoundError } from '../../common/errors/app-error';
import { escapeHtml, PAGE_HEADERS, pageFrame } from '../../common/http/responses/html-page';
import { type StaticFile, staticFile } from '../../common/http/responses/static-file';

/** The project's folder is equally far from `src/modules/console` and `dist/modules/console`. */
const FOLDER = join(__dirname, '../../../dist/console');
const INDEX = join(FOLDER, 'index.html');
const YEAR_SECONDS = 365 * 24 * 60 * 60;
const LONG_LIVED = { 'cache-control': `public, max-age=${YEAR_SECONDS}, immutable` };

/** Scripts, styles and everything else from this origin only, nothing inline, no framing. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** No build has this time, nor the want of one. */
const NOT_READ = 'not-read';

/** Shown when the app has not been built. */
const NOT_BUILT: ConsoleFile = {
  plain: staticFile(
    pageFrame('The console is not built', escapeHtml`<p>Run <code>npm run build</code>, then come back.</p>`),
    {
      type: 'text/html; charset=utf-8',
      maxAgeSeconds: 0,
      headers: PAGE_HEADERS,
    },
  ),
  gzipped: undefined,
};

/** A file's bytes, and compressed ones if they are smaller. */
export interface ConsoleFile {
  readonly plain: StaticFile;
  readonly gzipped: StaticFile | undefined;
}

/** The build of `console/`: read once, at the first request, and kept in memory (300 kB). */
@Injectable()
export class ConsoleFiles {
  private files: Promise<ReadonlyMap<string, ConsoleFile>> = Promise.resolve(new Map());
  private builtMs: number | typeof NOT_READ | undefined;

  /** The one page: its script routes by the address. */
  async page(): Promise<ConsoleFile> {
    return (await this.all()).get('index.html') ?? NOT_BUILT;
  }

  /** Scripts and styles, whose names change with their content. @throws NotFoundError */
  async asset(name: string): Promise<ConsoleFile> {
    const file = (await this.all()).get(`assets/${name}`);
    if (!file) throw new NotFoundError('File');
    return file;
  }

  /** Read again after a build: `npm run dev` makes one at every change. */
  private async all(): Promise<ReadonlyMap<string, ConsoleFile>> {
    const builtMs = (await stat(INDEX).catch(() => undefined))?.mtimeMs;
    if (builtMs !== this.builtMs) this.files = builtMs === undefined ? Promise.resolve(new Map()) : readAll();
    this.builtMs = builtMs;
    try {
      return await this.files;
    } catch (error) {
      // The next request reads again: a process may be out of file descriptors for a moment, and a build may be under way.
      this.builtMs = NOT_READ;
      throw error;
    }
  }
}

async function readAll(): Promise<ReadonlyMap<string, ConsoleFile>> {
  const entries = await readdir(FOLDER, { recursive: true, withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const files = names.map(async (path) => {
    const name = path.slice(FOLDER.length + 1).replaceAll('\\', '/');
    return [name, await read(path, name)] as const;
  });
  return new Map(await Promise.all(files));
}

async function read(path: string, name: string): Promise<ConsoleFile> {
  const content = await readFile(path);
  const compressed = await promisify(gzip)(content, { level: 9 });
  const headers = {
    vary: 'accept-encoding',
    ...(name === 'index.html' ? { 'content-security-policy': PAGE_POLICY } : LONG_LIVED),
  };
  const options = { type: contentType(basename(name)) || 'application/octet-stream', maxAgeSeconds: 0 };
  const encoding = { 'content-encoding': 'gzip' };
  return {
    plain: staticFile(content, { ...options, headers }),
    gzipped:
      compressed.length < content.length
        ? staticFile(compressed, { ...options, headers: { ...headers, ...encoding } })
        : undefined,
  };
}
