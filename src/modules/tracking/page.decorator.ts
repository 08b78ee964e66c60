import { applyDecorators, Header } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { ERROR_CODES, type ErrorCode } from '../../common/errors/error-codes';
import { describeErrors } from '../../common/http/openapi.decorators';
import { PAGE_HEADERS } from '../../common/http/html-page';

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
