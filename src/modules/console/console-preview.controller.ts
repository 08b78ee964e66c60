import { Controller, Get, Header, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiPropertyOptional, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { QueryBoolean } from '../../common/http/dto-decorators';
import { bytesInTurns, escapedInTurns } from '../../common/http/large-answers';
import { ApiErrors } from '../../common/http/openapi.decorators';
import { PathId } from '../../common/http/path-id.decorator';
import { CurrentPrincipal, type Principal } from '../../common/http/principal';
import { BodyBudget, holdUntilRead } from '../../common/http/request-body';
import { RequireScope } from '../../common/http/scopes';
import { EmailContentService } from '../emails/email-content.service';

/**
 * A mail's html is hostile until proven otherwise: an origin of its own (`sandbox`, which also holds when the document is
 * opened outside its frame), no script, no form, no link that leads anywhere.
 */
export function previewPolicy(remote: boolean): string {
  const elsewhere = remote ? ' https: http:' : '';
  return [
    `default-src 'none'; img-src data:${elsewhere}; style-src 'unsafe-inline'${elsewhere}; font-src data:${elsewhere}`,
    "sandbox; frame-ancestors 'self'; form-action 'none'; base-uri 'none'",
  ].join('; ');
}

const BEFORE_TEXT = Buffer.from('<!doctype html><pre style="white-space: pre-wrap">');
const AFTER_TEXT = Buffer.from('</pre>');

/** A mail as a page: its html, or else its text. */
export async function pageOf({ html, text }: { html?: string | null; text?: string | null }): Promise<Buffer> {
  if (typeof html === 'string') return bytesInTurns(html);
  return Buffer.concat([BEFORE_TEXT, await escapedInTurns(text ?? ''), AFTER_TEXT]);
}

export class PreviewQuery {
  /** Whether pictures and styles of other hosts are loaded, which tells their owners that somebody looks. */
  @ApiPropertyOptional({ type: Boolean, default: false, description: 'With pictures and styles of other hosts' })
  @QueryBoolean()
  remote: boolean = false;
}

/** What an email looks like, its html or else its text, as a document of its own for the console's frame. Its source is in `GET /v1/emails/{id}/content`. */
@ApiTags('Emails')
@Controller('console/preview')
@RequireScope('email:read')
export class ConsolePreviewController {
  constructor(
    private readonly contents: EmailContentService,
    private readonly budget: BodyBudget,
  ) {}

  @Get(':id')
  @ApiOperation({
    summary: 'What an email looks like',
    description:
      'Its html, or else its text, as a document with a policy that lets it do nothing, for a frame. Until the retention of ' +
      'the content ends. The source is in `GET /v1/emails/{id}/content`.',
  })
  @ApiResponse({ status: 200, description: 'Success', content: { 'text/html': { schema: { type: 'string' } } } })
  @ApiErrors('insufficient_permissions', 'resource_not_found')
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('x-dns-prefetch-control', 'off')
  async html(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Email') id: string,
    @Query() { remote }: PreviewQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Buffer> {
    const content = await this.contents.preview(principal, id);
    response.setHeader('content-security-policy', previewPolicy(remote));
    const page = await pageOf(content);
    holdUntilRead(this.budget, principal.organizationId, page.length, response);
    return page;
  }
}
