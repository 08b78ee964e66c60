import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { type StaticFile, staticFile } from './static-file';

const DAY_SECONDS = 24 * 60 * 60;

/** What the page needs of `swagger-ui-dist`; nothing else of it is served. */
const TYPES: ReadonlyMap<string, string> = new Map([
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['favicon-16x16.png', 'image/png'],
  ['favicon-32x32.png', 'image/png'],
]);

/** Swagger UI's files, read at the first request and kept in memory. */
export class SwaggerUiAssets {
  private readonly files = new Map<string, Promise<StaticFile>>();

  /** @returns undefined for a name that is not on the list. */
  async find(name: string): Promise<StaticFile | undefined> {
    const type = TYPES.get(name);
    if (type === undefined) return undefined;
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
