import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { sendError, statusOf, toAppError } from './error-response';

/** Turns errors of lower layers (the database driver's) into an `AppError` where it knows them. */
export type ErrorTranslator = (error: unknown) => unknown;

/** Fastify's error handler: the one place where an error becomes a response. */
export function errorHandler(translate: ErrorTranslator) {
  return (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    const known = toAppError(translate(error));
    if (statusOf(known) >= 500) request.failure = known.cause ?? known;
    if (!reply.raw.headersSent) void sendError(reply, known);
    // Half a response is out: only a broken connection can still tell the client.
    else reply.raw.destroy();
  };
}

/** Global filter: hands whatever a guard, pipe or handler throws to Fastify's error handler, which answers it. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  catch(exception: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    if (reply.sent) return;
    void reply.send(
      exception instanceof Error ? exception : new Error('A value that is no error was thrown', { cause: exception }),
    );
  }
}
