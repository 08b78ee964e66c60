import { Controller, Delete, Get, Header, HttpCode, Param, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { WorkTurns } from '../../../common/async/fair-turns';
import { PaginationDto } from '../../../common/http/dto/envelope.dto';
import { LiveOnly, RequireScope } from '../../../common/http/scopes';
import { AttachmentIndexPipe, downloadAs } from '../../../common/http/responses/downloads';
import { fromCursor, toPagination } from '../../../common/http/dto/pagination';
import { jsonPieces } from '../../../common/async/text-in-turns';
import type { ResponsePieces } from '../../../common/http/responses/error-response';
import { heldPieces, JSON_TYPE } from '../../../common/http/responses/large-responses';
import { ApiData, ApiErrors, ApiList, PathId } from '../../../common/http/dto/openapi.decorators';
import { CurrentPrincipal, type Principal } from '../../../common/http/principal';
import { BodyBudget, ResponseMemory } from '../../../common/http/request/request-body';
import {
  InboundEmailDto,
  InboundEmailListItemDto,
  ListInboundEmailsQuery,
  RemovedInboundEmailDto,
  toInboundEmailDto,
  toListItem,
} from './dto/inbound-email.dto';
import { InboundEmailsService } from './inbound-emails.service';

/** Never a type that a browser shows: the sender, who is not trusted, chose the bytes. */
const BYTES = 'application/octet-stream';
const FILE = {
  status: 200,
  description: 'The bytes',
  content: { [BYTES]: { schema: { type: 'string', format: 'binary' } } },
};

/** Mail that has come to routes. A key that is bound to a domain sees the mail of that domain's routes. */
@ApiTags('Inbound')
@Controller('v1/inbound-emails')
@RequireScope('inbound:read')
export class InboundEmailsController {
  constructor(
    private readonly emails: InboundEmailsService,
    private readonly budget: BodyBudget,
  ) {}

  @Get()
  @ApiOperation({
    summary: 'List inbound emails',
    description:
      'Newest first, without their bodies. Filtered, and for a key that is bound to a domain, the newest 50,000 are searched. ' +
      '`totalPages` reaches the newest 50,000 in any case; `nextCursor` reaches all.',
  })
  @ApiList(InboundEmailListItemDto, PaginationDto)
  @ApiErrors('invalid_request')
  async list(@CurrentPrincipal() principal: Principal, @Query() query: ListInboundEmailsQuery) {
    const { limit, from, to, cursor } = query;
    const page = { page: cursor === undefined ? query.page : 1, limit, after: fromCursor(cursor) };
    const { emails, ...listed } = await this.emails.page(principal, { from, to }, page);
    return { data: emails.map(toListItem), pagination: toPagination(listed, query, this.emails.reach) };
  }

  @Get(':id')
  @ApiOperation({ summary: 'Read an inbound email' })
  @ApiData(InboundEmailDto)
  @Header('content-type', JSON_TYPE)
  @ApiErrors('resource_not_found')
  async detail(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Inbound email') id: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ResponsePieces> {
    const { organizationId: holder } = principal;
    const memory = this.memoryFor(principal, response);
    const shown = await this.emails.get(principal, id, memory.reading);
    const data = await toInboundEmailDto(shown, new WorkTurns(holder));
    return heldPieces(await jsonPieces({ data }, { holder, onWritten: memory.writing }), memory);
  }

  @Delete(':id')
  @HttpCode(200)
  @RequireScope('inbound:manage')
  @LiveOnly()
  @ApiOperation({
    summary: 'Delete an inbound email',
    description: 'With its attachments and its event, before `RETENTION_INBOUND_DAYS` are over.',
  })
  @ApiData(RemovedInboundEmailDto)
  @ApiErrors('resource_not_found')
  async remove(@CurrentPrincipal() principal: Principal, @PathId('id', 'Inbound email') id: string) {
    await this.emails.remove(principal, principal.apiKeyId, id);
    return { data: { id, deleted: true } satisfies RemovedInboundEmailDto };
  }

  @Get(':id/raw')
  @ApiOperation({
    operationId: 'inboundEmails.raw',
    summary: 'Download an inbound email',
    description: 'The message as received, byte for byte.',
  })
  @ApiResponse(FILE)
  @Header('content-type', BYTES)
  @ApiErrors('resource_not_found')
  async raw(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Inbound email') id: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Buffer> {
    const bytes = await this.emails.raw(principal, id, this.memoryFor(principal, response).reading);
    response.setHeader('content-disposition', downloadAs(`${id}.eml`));
    return bytes;
  }

  @Get(':id/attachments/:index')
  @ApiOperation({ operationId: 'inboundEmails.attachment', summary: 'Download an attachment of an inbound email' })
  @ApiParam({ name: 'index', schema: { type: 'integer', minimum: 0 } })
  @ApiResponse(FILE)
  @Header('content-type', BYTES)
  @ApiErrors('resource_not_found')
  async attachment(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Inbound email') id: string,
    @Param('index', AttachmentIndexPipe) index: number,
    @Res({ passthrough: true }) response: Response,
  ): Promise<Buffer> {
    const { reading } = this.memoryFor(principal, response);
    const { filename, bytes } = await this.emails.attachment(principal, id, index, reading);
    response.setHeader('content-disposition', downloadAs(filename));
    return bytes;
  }

  private memoryFor({ organizationId }: Principal, response: Response): ResponseMemory {
    return new ResponseMemory(this.budget, organizationId, response);
  }
}
