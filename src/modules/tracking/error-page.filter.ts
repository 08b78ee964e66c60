import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import { NotFoundError } from '../../common/errors/app-error';
import { statusOf, toAppError } from '../../common/http/error-response';
import { PAGE_HEADERS } from '../../common/http/html-page';
import { translateDatabaseError } from '../../database/database-errors';
import { BROKEN_LINK_PAGE, problemPage } from './tracking-pages';

/** Behind a tracked link is a person with a browser, who can read a page and no error envelope. */
@Catch(NotFoundError)
export class BrokenLinkFilter implements ExceptionFilter<NotFoundError> {
  catch(error: NotFoundError, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    response.status(statusOf(error)).set(PAGE_HEADERS).send(BROKEN_LINK_PAGE);
  }
}

/** Sends people a page where the API sends programs the envelope; the statuses are the same. */
@Catch()
export class ProblemPageFilter implements ExceptionFilter {
  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const response = http.getResponse<Response>();
    const error = toAppError(translateDatabaseError(exception));
    const status = statusOf(error);
    if (status >= 500) http.getRequest<Request>().failure = error.cause ?? error;
    if (error.retryAfterSeconds !== undefined) response.setHeader('retry-after', error.retryAfterSeconds);
    response.status(status).set(PAGE_HEADERS).send(problemPage(error.code));
  }
}
