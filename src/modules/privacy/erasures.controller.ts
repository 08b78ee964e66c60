import { Body, Controller, Get, HttpCode, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { RequireScope, Unbound } from '../../common/http/scopes';
import { CurrentPrincipal, type Principal } from '../../common/http/principal';
import { ApiData, ApiErrors, PathId } from '../../common/http/openapi.decorators';
import { RateLimitClass } from '../../common/http/request-limits';
import { PrivacyErasureDto, RequestErasureDto } from './dto/privacy.dto';
import { toErasureDto, toSubjectAddress } from './dto/privacy.mapper';
import { RetentionExceptionsService } from './erasure/erasure-handler.service';
import { ERASURE, PrivacyRequestsService } from './requests/privacy-requests.service';

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
