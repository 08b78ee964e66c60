import 'reflect-metadata';
import type { AddressInfo } from 'node:net';
import {
  Body,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Global,
  Injectable,
  Module,
  Post,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE, NestFactory } from '@nestjs/core';
import { SkipThrottle, Throttle } from '@nestjs/throttler';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { IsString } from 'class-validator';
import type { Request } from 'express';
import type { DataSource } from 'typeorm';
import { Clock } from '../../../src/common/clock';
import { AppError } from '../../../src/common/errors/app-error';
import { AuthenticationFailures, RateLimitClass } from '../../../src/common/http/request/request-limits';
import { BodyGuard } from '../../../src/common/http/request/body.guard';
import { ErrorFilter } from '../../../src/common/http/responses/error-response';
import { createHttpAdapter } from '../../../src/common/http/server/http-server';
import { DtoPipe } from '../../../src/common/http/dto/validate-dto';
import { Metrics } from '../../../src/common/metrics/metrics';
import { AppConfig } from '../../../src/config/config';
import { loadConfig } from '../../../src/config/load-config';
import { createDataSource } from '../../../src/database/pool/data-source';
import { Database } from '../../../src/database/pool/database.service';
import { RateLimitGuard } from '../../../src/throttling/rate-limit.guard';
import { ThrottlingModule } from '../../../src/throttling/throttling.module';
import { FakeClock } from '../../doubles/fake-clock';
import { createTestDatabase, type TestDatabase } from '../../setup/test-database';

const NOW = '2026-01-05T12:00:40.000Z';
/** Without one, the configuration writes a new one into the working folder. */
const MASTER_KEY = Buffer.alloc(32).toString('base64');

class Thing {
  @IsString() name!: string;
}

@Controller()
class Things {
  @Get('things')
  list() {
    return { data: [] };
  }

  @Post('things')
  @RateLimitClass('send')
  create(@Body() body: Thing) {
    return { data: body };
  }

  @Get('once')
  @Throttle({ default: { limit: 1, ttl: 60_000 } })
  once() {
    return { data: [] };
  }

  @Get('free')
  @SkipThrottle()
  free() {
    return { data: [] };
  }

  @Get('public')
  open() {
    return { status: 'ok' };
  }
}

/** The bearer token is the key's id; "public" needs none; "bad" is unknown. */
@Injectable()
class KeyGuard implements CanActivate {
  constructor(private readonly failures: AuthenticationFailures) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    if (request.url === '/public') return true;
    const apiKeyId = (request.headers.authorization ?? '').replace('Bearer ', '');
    if (apiKeyId === 'bad') {
      const refused = () => Promise.reject(new AppError('invalid_api_key', 'Bad key'));
      await this.failures.verify(request, apiKeyId, refused);
    }
    request.principal = { organizationId: 'o', apiKeyId, mode: 'live', scopes: new Set(), domainId: undefined };
    return true;
  }
}

describe('rate limit headers', () => {
  let testDatabase: TestDatabase;
  let app: NestExpressApplication;
  let url: string;
  let source: DataSource;

  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    source = await createDataSource(testDatabase.url, { poolSize: 2 }).initialize();

    const shared = [
      Metrics,
      { provide: AppConfig, useValue: loadConfig({ MASTER_KEY, RATE_LIMITS: '{"send":3,"reads":50}' }) },
      { provide: Clock, useValue: new FakeClock(NOW) },
      { provide: Database, useValue: new Database(source) },
    ];

    @Global()
    @Module({ providers: shared, exports: shared })
    class SharedModule {}

    @Module({
      imports: [SharedModule, ThrottlingModule],
      controllers: [Things],
      providers: [
        { provide: APP_GUARD, useClass: KeyGuard },
        { provide: APP_GUARD, useExisting: RateLimitGuard },
        { provide: APP_GUARD, useClass: BodyGuard },
        { provide: APP_PIPE, useClass: DtoPipe },
        { provide: APP_FILTER, useClass: ErrorFilter },
      ],
    })
    class TestModule {}

    app = await NestFactory.create<NestExpressApplication>(TestModule, createHttpAdapter(), { logger: false });
    await app.listen(0, '127.0.0.1');
    url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await app.close();
    await source.destroy();
    await testDatabase.drop();
  });

  function send(key: string, path = '/things', body?: string): Promise<Response> {
    return fetch(url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body }),
    });
  }

  const limitsOf = ({ headers }: Response) =>
    ['limit', 'remaining', 'reset'].map((name) => Number(headers.get(`x-ratelimit-${name}`)));

  it('are on every authenticated response, errors of body and validation included', async () => {
    const created = await send('a', '/things', '{"name":"x"}');
    const invalid = await send('a', '/things', '{"name":5}');
    const broken = await send('a', '/things', '{"name":');
    expect([created.status, invalid.status, broken.status]).toEqual([201, 400, 400]);
    expect([created, invalid, broken].map((response) => limitsOf(response).slice(0, 2))).toEqual([
      [3, 2],
      [3, 1],
      [3, 0],
    ]);
    expect(limitsOf(created)[2]).toBe(Date.parse('2026-01-05T12:01:00Z') / 1_000);
  });

  it('come with Retry-After on a 429', async () => {
    for (let count = 0; count < 3; count += 1) await send('b', '/things', '{"name":"x"}');
    const refused = await send('b', '/things', '{"name":"x"}');
    expect(refused.status).toBe(429);
    expect(limitsOf(refused).slice(0, 2)).toEqual([3, 0]);
    expect(await refused.json()).toMatchObject({
      error: { code: 'rate_limit_exceeded', message: 'Rate limit exceeded. Retry after 20 seconds' },
    });
    expect(refused.headers.get('retry-after')).toBe('20');
    expect((await send('b')).status).toBe(200);
  });

  it("follow the throttler's decorators", async () => {
    const [first, second, free] = [await send('t', '/once'), await send('t', '/once'), await send('t', '/free')];
    expect([first, second, free].map(({ status }) => status)).toEqual([200, 429, 200]);
    expect(limitsOf(first).slice(0, 2)).toEqual([1, 0]);
    expect(await second.json()).toMatchObject({ error: { code: 'rate_limit_exceeded', details: { limit: 1 } } });
    expect(free.headers.has('x-ratelimit-limit')).toBe(false);
  });

  it('are not on public responses', async () => {
    expect((await send('', '/public')).headers.has('x-ratelimit-limit')).toBe(false);
  });

  it('refuse an address that guesses keys, but not the valid keys behind it', async () => {
    const statuses = new Set<number>();
    for (let count = 0; count < 102; count += 1) statuses.add((await send('bad')).status);
    expect([...statuses]).toEqual([401, 429]);
    expect((await send('c')).status).toBe(200);
  });
});
