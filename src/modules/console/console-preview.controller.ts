import { Controller, Get, Query, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { PathId } from '../../common/http/path-id.decorator';
import { CurrentPrincipal, type Principal } from '../../common/http/principal';
import { BodyBudget, holdUntilRead } from '../../common/http/request-body';
import { RequireScope } from '../../common/http/scopes';
import { EmailContentService } from '../emails/email-content.service';
import { InboundEmailsService } from '../inbound-mail/inbound-emails.service';
import { previewOf, PreviewQuery, PreviewRoute } from './preview';

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
