import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { APP_FILTER, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { Public } from '../../../src/common/http/scopes';
import { ErrorFilter } from '../../../src/common/http/responses/error-response';
import { createHttpAdapter } from '../../../src/common/http/server/http-server';
import { buildOpenApiDocument, setUpDocs } from '../../../src/openapi/docs';

@ApiTags('Health')
@Controller('things')
@Public()
class ThingsController {
  @Get()
  @ApiOperation({ summary: 'List things' })
  list() {
    return { data: [] };
  }
}

@Module({
  controllers: [ThingsController],
  providers: [{ provide: APP_FILTER, useClass: ErrorFilter }],
})
class DocsTestModule {}

describe('the documentation over HTTP', () => {
  let app: NestExpressApplication;
  let url: string;

  beforeAll(async () => {
    app = await NestFactory.create<NestExpressApplication>(DocsTestModule, createHttpAdapter(), { logger: false });
    await app.listen(0, '127.0.0.1');
    url = await app.getUrl();
  });
  afterAll(() => app.close());

  it('has no document before one is published', async () => {
    expect((await fetch(`${url}/openapi.json`)).status).toBe(404);
    setUpDocs(app, buildOpenApiDocument(app), ['/mailbox']);
    expect((await fetch(`${url}/openapi.json`)).status).toBe(200);
  });

  it('links to it and to the other pages', async () => {
    const response = await fetch(`${url}/`);
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        service: expect.any(String),
        version: expect.any(String),
        links: { docs: '/docs', 'openapi.json': '/openapi.json', health: '/health', mailbox: '/mailbox' },
      },
    ]);
  });

  it('says that a slash at the end is too many', async () => {
    const response = await fetch(`${url}/things/`);
    expect([response.status, await response.json()]).toMatchObject([
      404,
      { error: { suggestion: 'Leave out the slash at the end: paths match exactly' } },
    ]);
  });

  it('serves the document as JSON', async () => {
    const response = await fetch(`${url}/openapi.json`);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(response.headers.get('x-request-id')).toEqual(expect.any(String));
    const document = (await response.json()) as { openapi: string; paths: object };
    expect([document.openapi, Object.keys(document.paths)]).toEqual(['3.1.0', ['/things']]);
  });

  it('returns 304 to clients that have it already', async () => {
    const first = await fetch(`${url}/openapi.json`);
    const etag = first.headers.get('etag')!;
    expect(first.headers.get('cache-control')).toBe('no-cache');
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const response = await fetch(`${url}/openapi.json`, { headers: { 'if-none-match': known } });
      expect([response.status, await response.text(), response.headers.get('etag')]).toEqual([304, '', etag]);
    }
    expect((await fetch(`${url}/openapi.json`, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
  });

  it('serves a page that runs nothing but files of its own', async () => {
    const response = await fetch(`${url}/docs`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const policy = response.headers.get('content-security-policy')!;
    expect(policy.split('; ')).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "frame-ancestors 'none'",
      ]),
    );
    const page = await response.text();
    expect(page).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=/);
    const links = [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link]) => link!);
    expect(links.length).toBeGreaterThan(4);
    for (const link of links) {
      const file = await fetch(new URL(link, `${url}/docs`));
      expect([link, file.status]).toEqual([link, 200]);
      expect((await file.arrayBuffer()).byteLength).toBeGreaterThan(100);
    }
  });

  it.each([
    ['swagger-ui.css', 'text/css; charset=utf-8', 'public, max-age=86400'],
    ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8', 'public, max-age=86400'],
    ['initializer.js', 'text/javascript; charset=utf-8', 'no-cache'],
    ['favicon-32x32.png', 'image/png', 'public, max-age=86400'],
  ])('serves %s with its type', async (name, type, caching) => {
    const { headers } = await fetch(`${url}/docs/${name}`);
    expect([headers.get('content-type'), headers.get('cache-control')]).toEqual([type, caching]);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('etag')).toMatch(/^"[\w-]{43}"$/);
  });

  it('returns HEAD without a body', async () => {
    const response = await fetch(`${url}/docs/swagger-ui.css`, { method: 'HEAD' });
    expect([response.status, await response.text()]).toEqual([200, '']);
    expect(Number(response.headers.get('content-length'))).toBeGreaterThan(1_000);
  });

  it.each(['package.json', 'index.html', 'swagger-ui.css.map', '..%2fpackage.json', '%2e%2e%2f', 'constructor', ''])(
    'returns 404 for the file "%s"',
    async (name) => {
      const response = await fetch(`${url}/docs/${name}`);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { code: 'resource_not_found' } });
      expect(response.headers.get('cache-control')).toBe('no-store');
    },
  );
});
