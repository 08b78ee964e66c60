import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiTags, getSchemaPath } from '@nestjs/swagger';
import { WorkTurns } from '../../common/async/fair-turns';
import { RequireScope, Unbound } from '../../common/http/scopes';
import { DEFAULT_BODY, MIB, TakesBody } from '../../common/http/request/request-body';
import { CurrentPrincipal, type Principal } from '../../common/http/principal';
import { ApiData, ApiErrors, ApiList } from '../../common/http/dto/openapi.decorators';
import { addressKey } from '../../common/mail-address';
import {
  AddSuppressionDto,
  CheckSuppressionQuery,
  ImportedFileDto,
  ImportSuppressionsDto,
  ListSuppressionsQuery,
  OffsetPaginationDto,
  RemovedSuppressionDto,
  SuppressionBatchDto,
  SuppressionCheckDto,
  SuppressionDto,
} from './dto/suppression.dto';
import {
  MAX_BATCH,
  toAddress,
  toBatch,
  toBatchDto,
  toListDto,
  toNewEntry,
  toSlice,
  toSuppressionDto,
} from './dto/suppression.mapper';
import { MAX_IMPORT_BYTES, SuppressionImportService } from './suppression-import.service';
import { SuppressionListService } from './suppression-list.service';
import { SuppressionsService } from './suppressions.service';

/** 1,000 entries with long notes. */
const BATCH_BODY = { ...DEFAULT_BODY, maxBytes: 4 * MIB, elementwise: true };
/** Quotes and line ends take twice the space in JSON. */
const IMPORT_BODY = { ...DEFAULT_BODY, maxBytes: 2 * MAX_IMPORT_BYTES + MIB };

/** `/v1/suppressions`. The list belongs to the whole organization, so a key that is bound to a domain can only check single addresses. */
@ApiTags('Suppressions')
@Controller('v1/suppressions')
@RequireScope('suppression:manage')
export class SuppressionsController {
  constructor(
    private readonly suppressions: SuppressionsService,
    private readonly lists: SuppressionListService,
    private readonly imports: SuppressionImportService,
  ) {}

  @Unbound()
  @Get()
  @RequireScope('suppression:read')
  @ApiOperation({ summary: 'List suppressions', description: 'Newest first; those that have expired are left out.' })
  @ApiList(SuppressionDto, OffsetPaginationDto)
  @ApiErrors('invalid_request', 'domain_not_allowed')
  async list(@CurrentPrincipal() principal: Principal, @Query() query: ListSuppressionsQuery) {
    const { reason, email } = query;
    const key = email === undefined ? undefined : addressKey(toAddress(email));
    const [found, total] = await this.lists.page(principal, { ...toSlice(query), reason, key });
    return toListDto(found, total, query);
  }

  @Get('check')
  @RequireScope('suppression:read')
  @ApiOperation({
    summary: 'Check an address',
    description: 'Whether it is on the list, for any reason. Transactional mail ignores `unsubscribe`.',
  })
  @ApiData(SuppressionCheckDto)
  @ApiErrors('invalid_request')
  async check(@CurrentPrincipal() principal: Principal, @Query() query: CheckSuppressionQuery) {
    const email = toAddress(query.email);
    const reason = await this.suppressions.reasonOf(principal, email);
    return {
      data: { email, suppressed: reason !== undefined, ...(reason && { reason }) } satisfies SuppressionCheckDto,
    };
  }

  @Unbound()
  @Post()
  @ApiOperation({ summary: 'Suppress an address', description: 'An address can be listed once for each reason.' })
  @ApiData(SuppressionDto, { status: 201 })
  @ApiErrors('invalid_request', 'domain_not_allowed', 'suppression_exists')
  async add(@CurrentPrincipal() principal: Principal, @Body() body: AddSuppressionDto) {
    return { data: toSuppressionDto(await this.lists.add(principal, toNewEntry(body), principal.apiKeyId)) };
  }

  @Unbound()
  @Post('batch')
  @TakesBody(BATCH_BODY)
  @ApiOperation({
    operationId: 'suppressions.addBatch',
    summary: 'Suppress up to 1,000 addresses',
    description: 'Entries are independent: a refused one does not affect the others.',
  })
  @ApiBody({
    schema: { type: 'array', items: { $ref: getSchemaPath(AddSuppressionDto) }, minItems: 1, maxItems: MAX_BATCH },
  })
  @ApiData(SuppressionBatchDto, { status: 201 })
  @ApiErrors('invalid_request', 'domain_not_allowed', 'payload_too_large')
  async addBatch(@CurrentPrincipal() principal: Principal, @Body() body: unknown) {
    const entries = await toBatch(body, new WorkTurns(principal.organizationId));
    return { data: toBatchDto(await this.lists.addMany(principal, entries, principal.apiKeyId)) };
  }

  @Unbound()
  @Post('import')
  @TakesBody(IMPORT_BODY)
  @ApiOperation({
    operationId: 'suppressions.import',
    summary: "Import another service's list",
    description:
      'A CSV file as that service exports it. Bounces and complaints become `manual`, unsubscribes `unsubscribe`. It can be repeated.',
  })
  @ApiData(ImportedFileDto, { status: 201 })
  @ApiErrors('invalid_request', 'domain_not_allowed', 'payload_too_large')
  async import(@CurrentPrincipal() principal: Principal, @Body() { from: form, csv }: ImportSuppressionsDto) {
    const wanted = { owner: principal, form, csv, actor: principal.apiKeyId, keepReasons: false };
    return { data: (await this.imports.import(wanted)) satisfies ImportedFileDto };
  }

  @Unbound()
  @Delete(':email')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Remove an address from the list',
    description: 'Only while all of its entries are `manual` or `unsubscribe`.',
  })
  @ApiData(RemovedSuppressionDto)
  @ApiErrors('invalid_request', 'domain_not_allowed', 'resource_not_found', 'suppression_not_removable')
  async remove(@CurrentPrincipal() principal: Principal, @Param('email') address: string) {
    const email = toAddress(address);
    await this.lists.remove(principal, email, principal.apiKeyId);
    return { data: { email, removed: true } satisfies RemovedSuppressionDto };
  }
}
