import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { HttpServer, INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { contentType } from 'mime-types';
import { NotFoundError } from '../common/errors/app-error';
import { ErrorEnvelopeDto } from '../common/http/dto/envelope.dto';
import { sendFile, type StaticFile, staticFile } from '../common/http/responses/static-file';
import { RELEASE } from '../common/release';
import { describeApi } from './api-description';
import { completeDocument } from './complete-document';

/** The API as OpenAPI 3.1, generated from the controllers of `app`, which need not be initialised. */
export function buildOpenApiDocument(app: INestApplication): OpenAPIObject {
  const base = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Waybill')
    .setVersion(RELEASE)
    .setDescription(describeApi())
    .setLicense('MIT', 'https://spdx.org/licenses/MIT.html')
    .addServer('/')
    .addBearerAuth({
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'wb_live_… or wb_test_…',
      description: 'An API key',
    })
    .addBearerAuth(
      { type: 'http', scheme: 'bearer', bearerFormat: 'wb_op_…', description: "An operator's key" },
      'operator',
    )
    .build();
  const generated = SwaggerModule.createDocument(app, base, {
    operationIdFactory: operationId,
    extraModels: [ErrorEnvelopeDto],
    autoTagControllers: false,
  });
  return completeDocument(generated);
}

/** `EmailsController.list` → `emails.list` */
function operationId(controller: string, method: string): string {
  const resource = controller.replace(/Controller$/, '');
  return `${resource.charAt(0).toLowerCase()}${resource.slice(1)}.${method}`;
}

/** Content security policy: scripts only from our own files, so that injected markup cannot run. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The page of `/docs`. Its links are relative, so that it also works behind a path prefix. */
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Waybill API</title>
    <link rel="icon" type="image/png" sizes="32x32" href="docs/favicon-32x32.png" />
    <link rel="icon" type="image/png" sizes="16x16" href="docs/favicon-16x16.png" />
    <link rel="stylesheet" href="docs/swagger-ui.css" />
  </head>
  <body>
    <div id="swagger-ui"></div>
    <noscript>This page needs JavaScript. The same document as JSON: <a href="openapi.json">openapi.json</a></noscript>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/initializer.js"></script>
  </body>
</html>
`;

/** Entered keys stay in the page's memory; the page requests nothing from other sites. */
const INITIALIZER = `window.ui = SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
  validatorUrl: null,
});
`;

const PAGE_FILE = staticFile(PAGE, {
  type: 'text/html; charset=utf-8',
  maxAgeSeconds: 0,
  headers: { 'content-security-policy': PAGE_POLICY },
});
const INITIALIZER_FILE = staticFile(INITIALIZER, { type: 'text/javascript; charset=utf-8', maxAgeSeconds: 0 });

const DAY_SECONDS = 24 * 60 * 60;
/** The files of `swagger-ui-dist` that the page needs; no other is served. */
const ASSETS = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-16x16.png', 'favicon-32x32.png'];
/** Read at the first request and kept in memory. */
const readAssets = new Map<string, Promise<StaticFile>>();

/**
 * Publishes the document for programs at `/openapi.json` and for people at `/docs`. These are plain Express routes: no guard
 * runs, as for `@Public()`, and the document does not list them. `/` links to them.
 * @param pages other pages of this process, such as `/mailbox`
 */
export function setUpDocs(app: INestApplication, document: OpenAPIObject, pages: readonly string[] = []): void {
  const file = staticFile(JSON.stringify(document), { type: 'application/json; charset=utf-8', maxAgeSeconds: 0 });
  const routes = app.getHttpAdapter() as HttpServer<Request<Record<string, string>>, Response>;
  routes.get('/', (_request, response) => response.send(indexOf(document, pages)));
  routes.get('/openapi.json', (request, response) => sendFile(request, response, file));
  routes.get('/docs', (request, response) => sendFile(request, response, PAGE_FILE));
  routes.get('/docs/:file', async (request, response) => {
    sendFile(request, response, await findAsset(request.params.file ?? ''));
  });
}

function indexOf({ info }: OpenAPIObject, pages: readonly string[]) {
  const links = ['/docs', '/openapi.json', '/health', ...pages];
  return {
    service: info.title,
    version: info.version,
    links: Object.fromEntries(links.map((path) => [path.slice(1), path])),
  };
}

/** @throws NotFoundError */
async function findAsset(name: string): Promise<StaticFile> {
  if (name === 'initializer.js') return INITIALIZER_FILE;
  const type = ASSETS.includes(name) && contentType(name);
  if (!type) throw new NotFoundError('File');
  const file = readAssets.get(name) ?? readAsset(name, type);
  readAssets.set(name, file);
  return file;
}

async function readAsset(name: string, type: string): Promise<StaticFile> {
  return staticFile(await readFile(join(assetFolder(), name)), { type, maxAgeSeconds: DAY_SECONDS });
}

/** `swagger-ui-dist` is a dependency of @nestjs/swagger and may be installed below it. */
function assetFolder(): string {
  const swagger = createRequire(require.resolve('@nestjs/swagger'));
  return dirname(swagger.resolve('swagger-ui-dist/package.json'));
}
