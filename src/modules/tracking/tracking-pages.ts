import { applyDecorators, type ArgumentsHost, Catch, type ExceptionFilter, Header } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import type { Response } from 'express';
import { ERROR_CODES, type ErrorCode, NotFoundError } from '../../common/errors/app-error';
import { sendErrorPage } from '../../common/http/responses/error-page';
import { statusOf, toAppError } from '../../common/http/responses/error-response';
import { escapeHtml, type Markup, PAGE_HEADERS, pageFrame } from '../../common/http/responses/html-page';
import { describeErrors } from '../../common/http/dto/openapi.decorators';
import { translateDatabaseError } from '../../database/statements/database-errors';
import type { Subscription } from './tracking.service';

/** Responds to a broken tracked link with an HTML page: links are opened in browsers, where the error envelope is not readable. */
@Catch(NotFoundError)
export class BrokenLinkFilter implements ExceptionFilter<NotFoundError> {
  catch(error: NotFoundError, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    response.status(statusOf(error)).set(PAGE_HEADERS).send(BROKEN_LINK_PAGE);
  }
}

/** Sends an HTML page instead of the error envelope, with the same status. */
@Catch()
export class ProblemPageFilter implements ExceptionFilter {
  catch(exception: unknown, host: ArgumentsHost): void {
    const error = toAppError(translateDatabaseError(exception));
    sendErrorPage(host, error, problemPage(error.code));
  }
}

const HTML = { 'text/html': { schema: { type: 'string' } } } as const;
const PROBLEMS: readonly ErrorCode[] = [
  ...(['resource_not_found', 'rate_limit_exceeded', 'internal_error', 'service_unavailable'] as const),
];

/** A route that responds with an HTML page, for errors as well. @param description of the successful response */
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

/** The page that asks for a confirmation: mail programs and filters open every link, but press no button. */
export function questionPage({ senderDomain, maskedAddress }: Subscription): string {
  // A relative action works behind a path prefix as well.
  return pageFrame(
    'Unsubscribe?',
    escapeHtml`<p>Shall <bdi>${maskedAddress}</bdi> get no more mailings from <bdi>${senderDomain}</bdi>?</p>
      <form method="post" action="?via=page"><button type="submit">Unsubscribe</button></form>`,
  );
}

/** The page after an unsubscription, as HTML. */
export function donePage({ senderDomain, maskedAddress }: Subscription): string {
  return pageFrame(
    'Unsubscribed',
    escapeHtml`<p><bdi>${maskedAddress}</bdi> gets no more mailings from <bdi>${senderDomain}</bdi>.</p>
      <p>Mail that belongs to something you do there, such as a receipt or a new password, may still arrive.</p>`,
  );
}

/** The page for a link that is unknown, or a request that failed, as HTML. */
export function problemPage(code: ErrorCode): string {
  if (code === 'resource_not_found') return pageFrame('This link does not work', NOT_FOUND);
  return pageFrame('Something went wrong', FAILED);
}

const NOT_FOUND: Markup = escapeHtml`<p>It is not complete, or the mail that it belongs to is no longer on record.</p>
      <p>Copy the whole link, use the one in a newer mail, or reply to the sender.</p>`;

const FAILED: Markup = escapeHtml`<p>Nothing has changed. Please try again in a few minutes.</p>`;

/** The page for a tracked link with an invalid token. */
const BROKEN_LINK_PAGE = pageFrame(
  'This link does not work',
  escapeHtml`<p>It is not complete, or it has been changed on the way.</p>
      <p>Copy the whole link from the mail, or ask its sender.</p>`,
);
