import { applyDecorators, type ArgumentsHost, Catch, type ExceptionFilter, Header } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { NotFoundError } from '../../common/errors/app-error';
import { ERROR_CODES, type ErrorCode } from '../../common/errors/error-codes';
import { statusOf, toAppError } from '../../common/http/error-response';
import { PAGE_HEADERS } from '../../common/http/html-page';
import { describeErrors } from '../../common/http/openapi.decorators';
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

const HTML = { 'text/html': { schema: { type: 'string' } } } as const;
const PROBLEMS: readonly ErrorCode[] = [
  ...(['resource_not_found', 'rate_limit_exceeded', 'internal_error', 'service_unavailable'] as const),
];

/** A route that responds with a page, its problems included. @param description of its success */
export function RespondsWithPage(description: string): MethodDecorator {
  const headers = Object.entries(PAGE_HEADERS).map(([name, value]) => Header(name, value));
  const problems = PROBLEMS.map((code) =>
    ApiResponse({ status: ERROR_CODES[code].status, description: describeErrors([code]), content: HTML }),
  );
  return applyDecorators(...headers, ...problems, ApiResponse({ status: 200, description, content: HTML }));
}

/** Documents the page that `BrokenLinkFilter` sends. */
export function DocumentsBrokenLinks(): MethodDecorator {
  return ApiResponse({ status: 404, description: describeErrors(['resource_not_found']), content: HTML });
}
