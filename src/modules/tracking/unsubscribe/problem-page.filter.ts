import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { statusOf, toAppError } from '../../../common/http/error-response';
import { translateDatabaseError } from '../../../database/database-errors';
import { PAGE_HEADERS } from '../../../common/http/html-page';
import { problemPage } from './pages/unsubscribe-pages';

/** Answers people with a page where the API answers programs with the envelope; the statuses are the same. */
@Catch()
export class ProblemPageFilter implements ExceptionFilter {
  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const reply = http.getResponse<FastifyReply>();
    const error = toAppError(translateDatabaseError(exception));
    const status = statusOf(error);
    if (status >= 500) http.getRequest<FastifyRequest>().failure = error.cause ?? error;
    if (error.retryAfterSeconds !== undefined) void reply.header('retry-after', error.retryAfterSeconds);
    void reply.code(status).headers(PAGE_HEADERS).send(problemPage(error.code));
  }
}
