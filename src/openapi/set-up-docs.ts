import type { INestApplicationContext } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import { DocsService } from './docs.service';

/** Publishes the document at `/openapi.json` and `/docs` of an application that has `DocsModule`. */
export function setUpDocs(app: INestApplicationContext, document: OpenAPIObject): void {
  app.get(DocsService, { strict: false }).publish(document);
}
