import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import { Body, Controller, Get, type MiddlewareConsumer, Module, Param, Post } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import express, { type NextFunction, type Request, type Response } from 'express';
import { BodyGuard } from '../../../src/common/http/request/body.guard';
import { ErrorFilter } from '../../../src/common/http/responses/error-response';
import { createHttpAdapter } from '../../../src/common/http/server/http-server';
import type { RequestLine } from '../../../src/common/http/request/request';
import { expectEnvelope, expectStandardHeaders } from './expect-envelope';
import { exchange, post, request } from './raw-client';

@Controller('teams')
class TeamsController {
  @Get(':name')
  byName(@Param('name') name: string) {
    return { data: name };
  }

  @Post('forms')
  form(@Body() body: unknown) {
    return { data: body };
  }
}

const seen: string[] = [];

@Module({
  controllers: [TeamsController],
  providers: [
    { provide: APP_GUARD, useClass: BodyGuard },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
})
class TeamsModule {
  configure(consumer: MiddlewareConsumer): void {
    const note = (req: Request, _res: Response, next: NextFunction) => {
      seen.push(`consumer ${req.method} ${req.originalUrl}`);
      next();
    };
    consumer.apply(note).forRoutes('teams/*rest');
    consumer.apply(express.urlencoded()).forRoutes('teams/forms');
  }
}

/** What internal teams may expect of Express. */
describe('Express middleware', () => {
  let app: NestExpressApplication;
  let port: number;
  const lines: RequestLine[] = [];

  beforeAll(async () => {
    const adapter = createHttpAdapter({ log: (line) => lines.push(line) });
    app = await NestFactory.create<NestExpressApplication>(TeamsModule, adapter, { logger: false });
    app.use((req: Request, res: Response, next: NextFunction) => {
      seen.push(`use ${req.id} ${req.path} ${JSON.stringify(req.query)}`);
      res.setHeader('x-team', 'yes');
      next();
    });
    app.use('/teapot', (_req: Request, res: Response) => res.status(418).json({ short: true }));
    app.use('/broken', () => {
      throw new Error('the inside');
    });
    await app.listen(0, '127.0.0.1');
    port = (adapter.getHttpServer().address() as AddressInfo).port;
  });
  beforeEach(() => {
    seen.length = 0;
    lines.length = 0;
  });
  afterAll(() => app.close());

  it('sees the request of a route before the guards: app.use, then the MiddlewareConsumer', async () => {
    const response = await exchange(port, request('GET /teams/blue?a=1', ['X-Request-Id: mine']));
    expect(response.body).toBe('{"data":"blue"}');
    expect(response.headers['x-team']).toBe('yes');
    expect(seen).toEqual(['use mine /teams/blue {"a":"1"}', 'consumer GET /teams/blue?a=1']);
  });

  it('may respond itself, with the standard headers', async () => {
    const response = await exchange(port, request('GET /teapot'));
    expect({ status: response.status, body: response.body }).toEqual({ status: 418, body: '{"short":true}' });
    expectStandardHeaders(response);
    expect(response.headers).not.toHaveProperty('etag');
  });

  it('may fail, and the caller gets the envelope', async () => {
    const response = await exchange(port, request('GET /broken'));
    expectEnvelope(response, 500, 'internal_error');
    expect(response.body).not.toContain('inside');
  });

  it('may read bodies of its own kind', async () => {
    const type = 'Content-Type: application/x-www-form-urlencoded';
    const form = request('POST /teams/forms', [type, 'Content-Length: 3'], 'a=1');
    expect((await exchange(port, form)).body).toBe('{"data":{"a":"1"}}');
    expect((await exchange(port, post('/teams/forms', '{"b":2}'))).body).toBe('{"data":{"b":2}}');
  });

  it('sees unknown paths too, which stay 404', async () => {
    expectEnvelope(await exchange(port, request('GET /nothing')), 404, 'resource_not_found');
    expect(seen).toHaveLength(1);
  });
});
