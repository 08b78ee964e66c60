import { Body, Controller, Get, Header, HttpCode, Patch, Post, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { CurrentPrincipal, type Principal } from '../../common/http/principal';
import { PaginationDto } from '../../common/http/dto/envelope.dto';
import { fromCursor } from '../../common/http/dto/pagination';
import { eventfulPieces, jsonPieces, listPieces, type Reader } from '../../common/async/text-in-turns';
import { ResponsePieces } from '../../common/http/responses/error-response';
import { heldPieces, JSON_TYPE } from '../../common/http/responses/large-responses';
import { ApiData, ApiErrors, ApiList, PathId } from '../../common/http/dto/openapi.decorators';
import { BodyBudget, ResponseMemory } from '../../common/http/request/request-body';
import { RequireScope } from '../../common/http/scopes';
import { assertSpan } from '../../common/http/dto/timestamps';
import { AttemptDto, attemptsOf } from './dto/attempt.dto';
import {
  CancelledEmailDto,
  EmailContentDto,
  EmailDetailDto,
  EmailEventDto,
  EmailListItemDto,
  ListEmailsQuery,
  RescheduledEmailDto,
  RescheduleEmailDto,
} from './dto/email.dto';
import { toContentDto, toDetailDto, toEventDto, toListDto } from './dto/email.mapper';
import { EmailContentService } from './email-content.service';
import { EmailChangesService } from './email-changes.service';
import { EmailsService } from './emails.service';

/** `/v1/emails`: list and read with events, attempts and content; reschedule and cancel. */
@ApiTags('Emails')
@Controller('v1/emails')
@RequireScope('email:read')
export class EmailsController {
  constructor(
    private readonly emails: EmailsService,
    private readonly contents: EmailContentService,
    private readonly changes: EmailChangesService,
    private readonly budget: BodyBudget,
  ) {}

  @Get()
  @ApiOperation({ summary: 'List emails', description: 'Newest first.' })
  @ApiList(EmailListItemDto, PaginationDto)
  @Header('content-type', JSON_TYPE)
  @ApiErrors('invalid_request')
  async list(
    @CurrentPrincipal() principal: Principal,
    @Query() query: ListEmailsQuery,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ResponsePieces> {
    const { status, tag, recipient, subject, domain_id: domainId, from, to } = query;
    assertSpan({ from, to });
    const page = {
      page: query.cursor === undefined ? query.page : 1,
      limit: query.limit,
      after: fromCursor(query.cursor),
    };
    const filter = { status, tag, recipient, subject, domainId, from, to };
    const listed = await this.emails.list(principal, filter, page);
    return new ResponsePieces(await listPieces(toListDto(listed, query), this.readerOf(principal, response)));
  }

  @Get(':id')
  @ApiOperation({ summary: 'Read an email with its recipients and events' })
  @ApiData(EmailDetailDto)
  @Header('content-type', JSON_TYPE)
  @ApiErrors('invalid_request', 'resource_not_found')
  async detail(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Email') id: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ResponsePieces> {
    const email = toDetailDto(await this.emails.detail(principal, id));
    return new ResponsePieces(await eventfulPieces(email, this.readerOf(principal, response)));
  }

  @Get(':id/events')
  @ApiOperation({ summary: "List an email's events", description: 'Oldest first.' })
  @ApiData(EmailEventDto, { isArray: true })
  @Header('content-type', JSON_TYPE)
  @ApiErrors('invalid_request', 'resource_not_found')
  async events(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Email') id: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ResponsePieces> {
    const data = (await this.emails.events(principal, id)).map(toEventDto);
    return new ResponsePieces(await listPieces({ data }, this.readerOf(principal, response)));
  }

  @Get(':id/attempts')
  @ApiOperation({
    summary: "List the attempts at an email's delivery",
    description: 'For every recipient, newest first: route, encryption, times, the whole reply and its classification.',
  })
  @ApiData(AttemptDto, { isArray: true })
  @Header('content-type', JSON_TYPE)
  @ApiErrors('invalid_request', 'resource_not_found')
  async attempts(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Email') id: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ResponsePieces> {
    const data = attemptsOf(await this.emails.events(principal, id));
    return new ResponsePieces(await listPieces({ data }, this.readerOf(principal, response)));
  }

  @Get(':id/content')
  @ApiOperation({ summary: "Read an email's content", description: 'Until its retention ends.' })
  @ApiData(EmailContentDto)
  @Header('content-type', JSON_TYPE)
  @ApiErrors('invalid_request', 'resource_not_found')
  async content(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Email') id: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ResponsePieces> {
    const memory = new ResponseMemory(this.budget, principal.organizationId, response);
    const content = toContentDto(await this.contents.content(principal, id, memory.reading));
    const reader = { holder: principal.organizationId, onWritten: memory.writing };
    return heldPieces(await jsonPieces({ data: content }, reader), memory);
  }

  @Patch(':id')
  @RequireScope('email:send')
  @ApiOperation({
    operationId: 'emails.reschedule',
    summary: 'Reschedule an email',
    description: 'As long as it is scheduled or queued and no worker has started.',
  })
  @ApiData(RescheduledEmailDto)
  @ApiErrors('invalid_request', 'resource_not_found', 'email_not_reschedulable')
  async reschedule(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Email') id: string,
    @Body() { scheduledAt }: RescheduleEmailDto,
  ) {
    await this.changes.reschedule(principal, id, scheduledAt);
    return {
      data: { id, status: 'scheduled', scheduledAt: scheduledAt.toISOString() } satisfies RescheduledEmailDto,
    };
  }

  @Post(':id/cancel')
  @HttpCode(200)
  @RequireScope('email:send')
  @ApiOperation({ summary: 'Cancel a scheduled or queued email' })
  @ApiData(CancelledEmailDto)
  @ApiErrors(
    ...(['invalid_request', 'resource_not_found', 'email_not_cancellable'] as const),
    ...(['payload_too_large', 'unsupported_media_type'] as const),
  )
  async cancel(@CurrentPrincipal() principal: Principal, @PathId('id', 'Email') id: string) {
    await this.emails.cancel(principal, id);
    return { data: { id, status: 'failed' } satisfies CancelledEmailDto };
  }

  /** What is written counts as the organization's until the client has read it. */
  private readerOf({ organizationId }: Principal, response: Response): Reader {
    const memory = new ResponseMemory(this.budget, organizationId, response);
    return { holder: organizationId, onWritten: memory.writing };
  }
}
