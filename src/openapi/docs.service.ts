import { Injectable } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { NotFoundError } from '../common/errors/app-error';
import { INITIALIZER, PAGE, PAGE_POLICY } from './docs-page';
import { type StaticFile, staticFile } from './static-file';
import { SwaggerUiAssets } from './swagger-ui-assets';

const PAGE_FILE = staticFile(PAGE, {
  type: 'text/html; charset=utf-8',
  maxAgeSeconds: 0,
  headers: { 'content-security-policy': PAGE_POLICY },
});
const INITIALIZER_FILE = staticFile(INITIALIZER, { type: 'text/javascript; charset=utf-8', maxAgeSeconds: 0 });

/** The files of the documentation. There is no document until one is published. */
@Injectable()
export class DocsService {
  private readonly assets = new SwaggerUiAssets();
  private published: StaticFile | undefined;

  publish(document: OpenAPIObject): void {
    this.published = staticFile(JSON.stringify(document), {
      type: 'application/json; charset=utf-8',
      maxAgeSeconds: 0,
    });
  }

  /** @throws NotFoundError */
  document(): StaticFile {
    if (!this.published) throw new NotFoundError('Document');
    return this.published;
  }

  page(): StaticFile {
    return PAGE_FILE;
  }

  /** @throws NotFoundError */
  async asset(name: string): Promise<StaticFile> {
    const file = name === 'initializer.js' ? INITIALIZER_FILE : await this.assets.find(name);
    if (!file) throw new NotFoundError('File');
    return file;
  }
}
