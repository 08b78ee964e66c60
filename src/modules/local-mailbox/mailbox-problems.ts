import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { Request } from 'express';
import { type AppError, NotFoundError } from '../../common/errors/app-error';
import { sendErrorPage } from '../../common/http/responses/error-page';
import { ErrorFilter, toAppError } from '../../common/http/responses/error-response';
import { escapeHtml } from '../../common/http/responses/html-page';
import { translateDatabaseError } from '../../database/statements/database-errors';
import { layout, PAGE_POLICY } from './page-layout';

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
    const request = host.switchToHttp().getRequest<Request>();
    if (exception instanceof NoMailboxError || request.accepts(['json', 'html']) !== 'html') {
      new ErrorFilter().catch(exception, host);
      return;
    }
    const error = toAppError(translateDatabaseError(exception));
    sendErrorPage(host, error, problemPage(error, request.id), { 'content-security-policy': PAGE_POLICY });
  }
}

const ADVICE: Partial<Record<AppError['code'], string>> = {
  resource_not_found: 'It may have been deleted: the mailbox keeps the newest 1,000 messages or so.',
  invalid_request: 'The mailbox has no such page.',
};

function problemPage({ code, message }: AppError, request: string): string {
  const title = code === 'invalid_request' ? 'This address does not work' : message;
  const body = escapeHtml`<header><h1>${title}</h1></header>
    <main class="card">
      <p>${ADVICE[code] ?? 'Please try again in a moment.'}</p>
      <p><a href="/mailbox">Show all messages</a></p>
      <p class="hint"><code>${code}</code> · request <code>${request}</code></p>
    </main>`;
  return layout({ title, body });
}
