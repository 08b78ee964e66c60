import { type INestApplicationContext, Module } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { DocsController } from './docs.controller';
import { DocsService } from './docs.service';

/** Serves the API documentation once `setUpDocs` has been called. */
@Module({ controllers: [DocsController], providers: [DocsService] })
export class DocsModule {}

/** Publishes the document at `/openapi.json` and `/docs` of an application that has `DocsModule`. */
export function setUpDocs(app: INestApplicationContext, document: OpenAPIObject): void {
  app.get(DocsService, { strict: false }).publish(document);
}
