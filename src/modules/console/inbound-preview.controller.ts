import { Controller, Get, Header, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { ApiErrors } from '../../common/http/openapi.decorators';
import { PathId } from '../../common/http/path-id.decorator';
import { CurrentPrincipal, type Principal } from '../../common/http/principal';
import { BodyBudget, holdUntilRead } from '../../common/http/request-body';
import { RequireScope } from '../../common/http/scopes';
import { InboundEmailsService } from '../inbound-mail/inbound-emails.service';
import { pageOf, PreviewQuery, previewPolicy } from './console-preview.controller';

/** The same of mail that came in: html of any sender. */
@ApiTags('Inbound')
@Controller('console/preview/inbound')
@RequireScope('inbound:read')
export class InboundPreviewController {
  constructor(
    private readonly emails: InboundEmailsService,
    private readonly budget: BodyBudget,
  ) {}

  @Get(':id')
  @ApiOperation({
    operationId: 'inboundEmails.preview',
    summary: 'What an inbound email looks like',
    description:
      'Its html, or else its text, as a document with a policy that lets it do nothing, for a frame. The source is in `GET /v1/inbound-emails/{id}`.',
  })
  @ApiResponse({ status: 200, description: 'Success', content: { 'text/html': { schema: { type: 'string' } } } })
  @ApiErrors('insufficient_permissions', 'resource_not_found')
  @Header('content-type', 'text/html; charset=utf-8')
  @Header('x-dns-prefetch-control', 'off')
  async html(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Inbound email') id: string,
    @Query() { remote }: PreviewQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Buffer> {
    const hold = (bytes: number) => holdUntilRead(this.budget, principal.organizationId, bytes, response);
    const { message } = await this.emails.get(principal, id, hold);
    response.setHeader('content-security-policy', previewPolicy(remote));
    const page = await pageOf(message);
    hold(page.length);
    return page;
  }
}
