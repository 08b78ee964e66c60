import { Body, Controller, Get, Headers, HttpCode, Post, Query, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { Response } from 'express';
import { Clock } from '../../common/clock';
import { BodyBudget, holdUntilRead } from '../../common/http/request/request-body';
import { RequireScope, Unbound } from '../../common/http/scopes';
import { CurrentPrincipal, type Principal } from '../../common/http/principal';
import { ApiData, ApiErrors, PathId } from '../../common/http/dto/openapi.decorators';
import { CountsAsChange, RateLimitClass } from '../../common/http/request/request-limits';
import {
  ListPrivacyRequestsQuery,
  PrivacyErasureDto,
  PrivacyExportDto,
  PrivacyHistoryDto,
  ReadExportQuery,
  RequestErasureDto,
  RequestExportDto,
} from './dto/privacy.dto';
import { toErasureDto, toExportDto, toHistoryDto, toRequestSlice, toSubjectAddress } from './dto/privacy.mapper';
import { isShown, resultForm, toFile } from './dto/export.file';
import { ExportsService } from './export/exports.service';
import { ERASURE, PrivacyRequestsService } from './requests/privacy-requests.service';
import { RetentionExceptionsService } from './erasure/erasure-handler.service';

/** `/v1/gdpr/delete-request`: requests an erasure and reads its progress. */
@ApiTags('Privacy')
@Controller('v1/gdpr/delete-request')
@RequireScope('privacy:read')
export class ErasuresController {
  constructor(
    private readonly requests: PrivacyRequestsService,
    private readonly exceptions: RetentionExceptionsService,
  ) {}

  @Unbound()
  @Post()
  @HttpCode(202)
  @RequireScope('privacy:manage')
  @RateLimitClass('gdpr-delete')
  @ApiOperation({
    operationId: 'privacy.requestErasure',
    summary: "Erase a subject's data",
    description: 'GDPR article 17. It runs in the background. While one is open, the same request returns it.',
  })
  @ApiData(PrivacyErasureDto, { status: 202 })
  @ApiErrors('invalid_request', 'domain_not_allowed')
  async request(@CurrentPrincipal() principal: Principal, @Body() { email, reason }: RequestErasureDto) {
    const subject = { email: toSubjectAddress(email), ...(reason !== undefined && { reason }) };
    const request = await this.requests.createErasure(principal, subject);
    return { data: toErasureDto(request, await this.exceptions.of(request)) };
  }

  @Unbound()
  @Get(':requestId')
  @ApiOperation({
    operationId: 'privacy.readErasure',
    summary: 'Read an erasure',
    description: 'With its receipt once completed.',
  })
  @ApiData(PrivacyErasureDto)
  @ApiErrors('domain_not_allowed', 'resource_not_found')
  async read(@CurrentPrincipal() principal: Principal, @PathId('requestId', 'Privacy request') id: string) {
    const request = await this.requests.get(principal, ERASURE, id);
    return { data: toErasureDto(request, await this.exceptions.of(request)) };
  }
}

/** What a download holds in memory: a part of the result with an email of the largest size, in the forms between database and client. */
const MOST_AT_ONCE = 16 * 1024 * 1024;

/** `/v1/gdpr`: exports and the history of requests. They cover the whole organization, so a key that is bound to a domain is refused. */
@ApiTags('Privacy')
@Controller('v1/gdpr')
@RequireScope('privacy:read')
export class ExportsController {
  constructor(
    private readonly requests: PrivacyRequestsService,
    private readonly exports: ExportsService,
    private readonly budget: BodyBudget,
    private readonly clock: Clock,
  ) {}

  @Unbound()
  @Post('export')
  @HttpCode(202)
  @RequireScope('privacy:manage')
  @RateLimitClass('gdpr-export')
  @ApiOperation({
    operationId: 'privacy.requestExport',
    summary: "Export a subject's data",
    description: 'GDPR article 15. It runs in the background. While one is open, the same request returns it.',
  })
  @ApiData(PrivacyExportDto, { status: 202 })
  @ApiErrors('invalid_request', 'domain_not_allowed')
  async request(@CurrentPrincipal() principal: Principal, @Body() { email, format }: RequestExportDto) {
    const request = await this.requests.createExport(principal, toSubjectAddress(email), format);
    return { data: toExportDto({ request }) };
  }

  @Unbound()
  @Get('export/:requestId')
  @CountsAsChange()
  @ApiOperation({
    operationId: 'privacy.readExport',
    summary: 'Read an export',
    description:
      'Includes its result once completed, for 7 days. `Accept: application/zip` downloads the result as a ZIP file, ' +
      '`Accept: text/csv` one section of it.',
  })
  @ApiData(PrivacyExportDto, { files: ['text/csv', 'application/zip'] })
  @ApiErrors('invalid_request', 'domain_not_allowed', 'resource_not_found', 'export_not_available')
  async read(
    @CurrentPrincipal() principal: Principal,
    @PathId('requestId', 'Privacy request') id: string,
    @Query() { section }: ReadExportQuery,
    @Headers('accept') accept: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ) {
    const found = await this.exports.find(principal, id);
    const form = resultForm(accept);
    const fields = toExportDto(found);
    if (form === 'json' && !isShown(found)) return { data: fields };
    const { bytes = 0 } = found.size ?? {};
    holdUntilRead(this.budget, principal.organizationId, Math.min(bytes, MOST_AT_ONCE), response, bytes);
    const result = await this.exports.open(principal, found);
    return toFile(result, { form, section, fields, now: this.clock.now() });
  }

  @Unbound()
  @Get('status')
  @ApiOperation({
    operationId: 'privacy.listRequests',
    summary: 'List privacy requests',
    description: 'Exports and erasures, newest first.',
  })
  @ApiData(PrivacyHistoryDto)
  @ApiErrors('invalid_request', 'domain_not_allowed')
  async list(@CurrentPrincipal() principal: Principal, @Query() query: ListPrivacyRequestsQuery) {
    const { requests, total } = await this.requests.list(principal, toRequestSlice(query));
    return { data: toHistoryDto(requests, total, query) };
  }
}
