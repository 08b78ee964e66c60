import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { NotFoundError } from '../../common/errors/app-error';
import { statusOf, toAppError } from '../../common/http/error-response';
import { PAGE_HEADERS } from '../../common/http/html-page';
import { translateDatabaseError } from '../../database/database-errors';
import { BROKEN_LINK_PAGE, problemPage } from './tracking-pages';

/** Behind a tracked link is a person with a browser, who can read a page and no error envelope. */
@Catch(NotFoundError)
export class BrokenLinkFilter implements ExceptionFilter<NotFoundError> {
  catch(error: NotFoundError, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    void reply.code(statusOf(error)).headers(PAGE_HEADERS).send(BROKEN_LINK_PAGE);
  }
}

/** Sends people a page where the API sends programs the envelope; the statuses are the same. */
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
