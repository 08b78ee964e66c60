import 'reflect-metadata';
import type { AddressInfo, Socket } from 'node:net';
import {
  Body,
  type CanActivate,
  Controller,
  Delete,
  type ExecutionContext,
  Get,
  HttpCode,
  Injectable,
  Module,
  Param,
  Post,
  Query,
  Res,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_PIPE, NestFactory } from '@nestjs/core';
import { IsOptional, IsString, Length } from 'class-validator';
import type { Request, Response } from 'express';
import type { RequestLine } from '../../../src/common/http/request/request';
import { BodyGuard } from '../../../src/common/http/request/body.guard';
import { BATCH_BODY, MIB, TakesBody } from '../../../src/common/http/request/request-body';
import { Draining } from '../../../src/common/http/server/draining';
import { QueryInteger, Timestamp } from '../../../src/common/http/dto/dto-decorators';
import { ErrorFilter } from '../../../src/common/http/responses/error-response';
import { createHttpAdapter, type HttpServerOptions } from '../../../src/common/http/server/http-server';
import { PathId } from '../../../src/common/http/dto/openapi.decorators';
import { DtoPipe } from '../../../src/common/http/dto/validate-dto';
import { AppError } from '../../../src/common/errors/app-error';
import { waitFor } from '../../setup/wait-for';

class ListQuery {
  @IsOptional() @QueryInteger(1, 1_000) page = 1;
  @IsOptional() @Timestamp() from?: Date;
}

class ThingBody {
  @IsString() @Length(1, 20) name!: string;
}

@Controller('v1/things')
class ThingsController {
  @Get()
  list(@Query() query: ListQuery) {
    return { data: [], page: query.page, ...(query.from && { from: query.from.toISOString() }) };
  }

  @Post()
  create(@Body() body: ThingBody) {
    return { data: body };
  }

  @Post('batch')
  @HttpCode(202)
  @TakesBody(BATCH_BODY)
  batch(@Body() body: unknown) {
    return { data: { length: JSON.stringify(body)?.length } };
  }

  @Post('ignored')
  @HttpCode(200)
  @TakesBody({ ignored: true })
  ignored() {
    return { data: 'ignored' };
  }

  @Get('by-address/:address')
  byAddress(@Param('address') address: string) {
    return { data: address };
  }

  @Get('large')
  large() {
    return { data: 'x'.repeat(7 * MIB) };
  }

  @Get(':id')
  byId(@PathId('id', 'Thing') id: string) {
    return { data: { id } };
  }

  @Post(':id/verify')
  @HttpCode(200)
  verify(@Param('id') id: string, @Body() body: unknown) {
    return { data: { id, hasBody: body !== undefined } };
  }

  @Delete(':id')
  remove(@PathId('id', 'Resource') id: string) {
    return { success: id !== '' };
  }
}

@Controller('errors')
class ErrorsController {
  @Get('unknown')
  unknown(): never {
    throw new Error('the secret inside');
  }

  @Get('value')
  value(): never {
    // oxlint-disable-next-line typescript/only-throw-error
    throw { statusCode: 404, message: 'forged' };
  }

  @Get('conflict')
  conflict(): never {
    throw new AppError('idempotency_in_progress', 'Still running', { retryAfterSeconds: 1, suggestion: 'Wait' });
  }

  @Get('page')
  page(@Res() response: Response) {
    response
      .header('content-type', 'text/html')
      .header('content-security-policy', "default-src 'self'")
      .header('cache-control', 'max-age=60')
      .send('<p>page</p>');
  }

  @Get('slow')
  slow(): Promise<unknown> {
    return new Promise((resolve) => slowRequests.push(() => resolve({ data: 'slow' })));
  }

  @Post('slow')
  @TakesBody(BATCH_BODY)
  slowly(): Promise<unknown> {
    return this.slow();
  }
}

/** Requests of `/errors/slow` wait here until the test lets them go. */
export const slowRequests: (() => void)[] = [];

@Controller('health')
class HealthController {
  @Get()
  health() {
    return { status: 'ok' };
  }
}

/** Refuses one key, to show what comes before and after authentication; another takes until all of the request is there. */
@Injectable()
class KeyGuard implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<Request>();
    const { authorization } = request.headers;
    if (authorization === 'Bearer bad') throw new AppError('invalid_api_key', 'Bad key');
    if (authorization === 'Bearer slow') await waitFor(() => request.complete, { what: 'the whole request' });
    request.principal = { organizationId: 'o', apiKeyId: 'k', mode: 'live', scopes: new Set(), domainId: undefined };
    return true;
  }
}

@Module({
  controllers: [ThingsController, ErrorsController, HealthController],
  providers: [
    { provide: APP_GUARD, useClass: KeyGuard },
    { provide: APP_GUARD, useClass: BodyGuard },
    { provide: APP_PIPE, useClass: DtoPipe },
    { provide: APP_FILTER, useClass: ErrorFilter },
  ],
})
class HttpTestModule {}

export interface HttpApp {
  readonly port: number;
  readonly lines: RequestLine[];
  readonly draining: Draining;
  /** The server's side of the connections, in the order in which they came. */
  readonly connections: Socket[];
  close(): Promise<void>;
}

/** The server with two controllers on an ephemeral port of the loopback interface. */
export async function startHttpApp(options: Partial<HttpServerOptions> = {}): Promise<HttpApp> {
  const lines: RequestLine[] = [];
  const draining = new Draining();
  const adapter = createHttpAdapter({ log: (line) => lines.push(line), draining, ...options });
  const app = await NestFactory.create(HttpTestModule, adapter, { logger: false });
  const server = adapter.getHttpServer();
  const connections: Socket[] = [];
  server.on('connection', (socket: Socket) => connections.push(socket));
  await app.listen(0, '127.0.0.1');
  const { port } = server.address() as AddressInfo;
  return { port, lines, draining, connections, close: () => app.close() };
}
