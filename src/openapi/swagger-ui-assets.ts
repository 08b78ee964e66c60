import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { contentType } from 'mime-types';
import { type StaticFile, staticFile } from '../common/http/static-file';

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
