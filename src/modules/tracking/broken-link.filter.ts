import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { NotFoundError } from '../../common/errors/app-error';
import { escapeHtml, PAGE_HEADERS, pageFrame } from '../../common/http/html-page';
import { describeErrors } from '../../common/http/openapi.decorators';
import { statusOf } from '../../common/http/error-response';

const PAGE = pageFrame(
  'This link does not work',
  escapeHtml`<p>It is not complete, or it has been changed on the way.</p>
      <p>Copy the whole link from the mail, or ask its sender.</p>`,
);

/** Whoever follows a link is a person with a browser: a page tells them more than an envelope. */
@Catch(NotFoundError)
export class BrokenLinkFilter implements ExceptionFilter<NotFoundError> {
  catch(error: NotFoundError, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    void reply.code(statusOf(error)).headers(PAGE_HEADERS).send(PAGE);
  }
}

/** Documents the page. */
export function AnswersBrokenLinks(): MethodDecorator {
  const content = { 'text/html': { schema: { type: 'string' } } } as const;
  return ApiResponse({ status: 404, description: describeErrors(['resource_not_found']), content });
}
