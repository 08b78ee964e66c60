import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import { type AppError, NotFoundError } from '../../common/errors/app-error';
import { ErrorFilter, statusOf, toAppError } from '../../common/http/error-response';
import { escapeHtml } from '../../common/http/html-page';
import { translateDatabaseError } from '../../database/database-errors';
import { HTML_TYPE, layout, PAGE_POLICY } from './page-layout';

/** There is no mailbox for this client: it learns no more than from any other unknown path. */
export class NoMailboxError extends NotFoundError {
  constructor() {
    super('Resource');
  }
}

/** Browsers get a page that leads back to the list; programs get the envelope of all errors. */
@Catch()
export class MailboxProblemFilter implements ExceptionFilter {
  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<Request>();
    if (exception instanceof NoMailboxError || request.accepts(['json', 'html']) !== 'html') {
      new ErrorFilter().catch(exception, host);
      return;
    }
    const response = http.getResponse<Response>();
    const error = toAppError(translateDatabaseError(exception));
    const status = statusOf(error);
    if (status >= 500) request.failure = error.cause ?? error;
    if (error.retryAfterSeconds !== undefined) response.setHeader('retry-after', error.retryAfterSeconds);
    const headers = { 'content-type': HTML_TYPE, 'content-security-policy': PAGE_POLICY, 'cache-control': 'no-store' };
    response.status(status).set(headers).send(problemPage(error, response));
  }
}

const ADVICE: Partial<Record<AppError['code'], string>> = {
  resource_not_found: 'It may have been deleted: the mailbox keeps the newest 1,000 messages or so.',
  invalid_request: 'The address is not one that the mailbox has.',
};

function problemPage({ code, message }: AppError, response: Response): string {
  const request = String(response.getHeader('x-request-id') ?? '');
  const title = code === 'invalid_request' ? 'This address does not work' : message;
  const body = escapeHtml`<header><h1>${title}</h1></header>
    <main class="card">
      <p>${ADVICE[code] ?? 'Please try again in a moment.'}</p>
      <p><a href="/mailbox">Show all messages</a></p>
      <p class="hint"><code>${code}</code> · request <code>${request}</code></p>
    </main>`;
  return layout({ title, body });
}
