import {
  applyDecorators,
  type ArgumentsHost,
  Catch,
  Controller,
  type ExceptionFilter,
  Get,
  Header,
  Query,
  Res,
  UseFilters,
} from '@nestjs/common';
import { ApiOperation, type ApiOperationOptions, ApiPropertyOptional, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import type { AppError } from '../../common/errors/app-error';
import { QueryBoolean } from '../../common/http/dto/dto-decorators';
import { sendErrorPage } from '../../common/http/responses/error-page';
import { ErrorFilter, toAppError } from '../../common/http/responses/error-response';
import { escapeHtml, pageFrame } from '../../common/http/responses/html-page';
import { escapedInTurns, inertInTurns } from '../../common/http/responses/large-responses';
import { ApiErrors, PathId } from '../../common/http/dto/openapi.decorators';
import { CurrentPrincipal, type Principal } from '../../common/http/principal';
import { BodyBudget, holdUntilRead } from '../../common/http/request/request-body';
import { RequireScope } from '../../common/http/scopes';
import { translateDatabaseError } from '../../database/statements/database-errors';
import { EmailContentService } from '../emails/email-content.service';
import { InboundEmailsService } from '../inbound-mail/emails/inbound-emails.service';

class PreviewQuery {
  /** Whether images and styles of other hosts are loaded, which shows their owners that the mail is read. */
  @ApiPropertyOptional({ type: Boolean, default: false, description: 'With pictures and styles of other hosts' })
  @QueryBoolean()
  remote: boolean = false;
}

/** A route that responds with a message as a document for the console's frame. */
function PreviewRoute(operation: ApiOperationOptions): MethodDecorator {
  return applyDecorators(
    ApiOperation(operation),
    ApiResponse({ status: 200, description: 'Success', content: { 'text/html': { schema: { type: 'string' } } } }),
    ApiErrors('insufficient_permissions', 'resource_not_found'),
    Header('content-type', 'text/html; charset=utf-8'),
    Header('x-dns-prefetch-control', 'off'),
  );
}

const BEFORE_TEXT = Buffer.from('<!doctype html><pre style="white-space: pre-wrap">');
const AFTER_TEXT = Buffer.from('</pre>');

/** The document: the message's html, or else its text. Sets the policy that keeps it from doing anything. */
async function previewOf(
  { html, text }: { readonly html?: string | null | undefined; readonly text?: string | null | undefined },
  { remote }: PreviewQuery,
  response: Response,
): Promise<Buffer> {
  const holder = response.req.principal?.organizationId;
  response.setHeader('content-security-policy', policyOf(remote));
  if (typeof html === 'string') return inertInTurns(html, holder);
  return Buffer.concat([BEFORE_TEXT, await escapedInTurns(text ?? '', holder), AFTER_TEXT]);
}

/** A frame shows an error as a page; programs get the envelope of all errors. */
@Catch()
class PreviewErrorFilter implements ExceptionFilter {
  catch(exception: unknown, host: ArgumentsHost): void {
    const request = host.switchToHttp().getRequest<Request>();
    if (request.accepts(['json', 'html']) !== 'html') {
      new ErrorFilter().catch(exception, host);
      return;
    }
    const error = toAppError(translateDatabaseError(exception));
    sendErrorPage(host, error, errorPage(error, request.id), { 'content-security-policy': policyOf(false) });
  }
}

function errorPage({ message, suggestion, code }: AppError, requestId: string): string {
  const advice = suggestion === undefined ? undefined : escapeHtml`<p>${suggestion}</p>`;
  return pageFrame(message, escapeHtml`${advice}<p><code>${code}</code> · request <code>${requestId}</code></p>`);
}

/**
 * A mail's html is hostile until proven otherwise: an origin of its own (`sandbox`, which also holds when the document is
 * opened outside its frame), no script, no form; `inertInTurns` leaves no frame, and no link that leads anywhere.
 */
function policyOf(remote: boolean): string {
  const elsewhere = remote ? ' https: http:' : '';
  return [
    `default-src 'none'; img-src data:${elsewhere}; style-src 'unsafe-inline'${elsewhere}; font-src data:${elsewhere}`,
    "sandbox; frame-ancestors 'self'; form-action 'none'; base-uri 'none'",
  ].join('; ');
}

/**
 * An email's html, or else its text, as a separate document for the console's frame. Its source is in `GET
 * /v1/emails/{id}/content`.
 */
@ApiTags('Emails')
@Controller('console/preview')
@RequireScope('email:read')
@UseFilters(PreviewErrorFilter)
export class ConsolePreviewController {
  constructor(
    private readonly contents: EmailContentService,
    private readonly budget: BodyBudget,
  ) {}

  @Get(':id')
  @PreviewRoute({
    summary: 'What an email looks like',
    description:
      'Its html, or else its text, as a document with a policy that lets it do nothing, for a frame. Until the retention of ' +
      'the content ends. The source is in `GET /v1/emails/{id}/content`.',
  })
  async html(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Email') id: string,
    @Query() query: PreviewQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Buffer> {
    const page = await previewOf(await this.contents.preview(principal, id), query, response);
    holdUntilRead(this.budget, principal.organizationId, page.length, response);
    return page;
  }
}

/** The same of mail that came in: html of any sender. */
@ApiTags('Inbound')
@Controller('console/preview/inbound')
@RequireScope('inbound:read')
@UseFilters(PreviewErrorFilter)
export class InboundPreviewController {
  constructor(
    private readonly emails: InboundEmailsService,
    private readonly budget: BodyBudget,
  ) {}

  @Get(':id')
  @PreviewRoute({
    operationId: 'inboundEmails.preview',
    summary: 'What an inbound email looks like',
    description:
      'Its html, or else its text, as a document with a policy that lets it do nothing, for a frame. The source is in `GET /v1/inbound-emails/{id}`.',
  })
  async html(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Inbound email') id: string,
    @Query() query: PreviewQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Buffer> {
    const hold = (bytes: number) => holdUntilRead(this.budget, principal.organizationId, bytes, response);
    const { message } = await this.emails.get(principal, id, hold);
    const page = await previewOf(message, query, response);
    hold(page.length);
    return page;
  }
}
