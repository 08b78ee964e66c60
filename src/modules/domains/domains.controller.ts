import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { LiveOnly, RequireScope, Unbound } from '../../common/http/scopes';
import { CurrentPrincipal, type Principal } from '../../common/http/principal';
import { NotFoundError } from '../../common/errors/app-error';
import { ApiData, ApiErrors, ApiList, PathId } from '../../common/http/dto/openapi.decorators';
import { cutPage, toNextCursor } from '../../common/http/dto/pagination';
import { HasOwnTurns, RateLimitClass } from '../../common/http/request/request-limits';
import { DkimKeysService } from './dkim/dkim-keys.service';
import { DomainDetailsService } from './domain-details.service';
import { DomainsService } from './domains.service';
import {
  AddDomainDto,
  ChangeDomainDto,
  DomainDto,
  DomainVerificationDto,
  toDomainDto,
  toVerificationDto,
} from './dto/domain.dto';
import { ListDomainsQuery, toDomainFilter } from './dto/list-domains.dto';
import { DomainVerificationService } from './verification/domain-verification.service';

/** `/v1/domains`: register, verify, change and remove domains and their DKIM keys. */
@ApiTags('Domains')
@Controller('v1/domains')
@RequireScope('domain:manage')
export class DomainsController {
  constructor(
    private readonly domains: DomainsService,
    private readonly details: DomainDetailsService,
    private readonly verification: DomainVerificationService,
    private readonly keys: DkimKeysService,
  ) {}

  @LiveOnly()
  @Unbound()
  @Post()
  @RateLimitClass('domain-writes')
  @ApiOperation({
    summary: 'Add a domain',
    description: 'Publish the records of the response in DNS, then verify. The first domain becomes the default.',
  })
  @ApiData(DomainDto, { status: 201 })
  @ApiErrors('invalid_request', 'domain_not_allowed', 'domain_already_exists', 'domain_limit_reached')
  async add(@CurrentPrincipal() principal: Principal, @Body() body: AddDomainDto) {
    const domain = await this.domains.add(principal.organizationId, body.domain, principal.apiKeyId);
    return { data: toDomainDto(await this.details.detailOf(domain)) };
  }

  @Get()
  @RequireScope('domain:read')
  @ApiOperation({
    summary: 'List domains',
    description: 'Oldest first. A key that is bound to a domain sees that one.',
  })
  @ApiList(DomainDto, 'total and cursor')
  @ApiErrors('invalid_request')
  async list(@CurrentPrincipal() { organizationId, domainId }: Principal, @Query() query: ListDomainsQuery) {
    const [found, total] = await this.domains.page(organizationId, { ...toDomainFilter(query), id: domainId });
    const { shown, last } = cutPage(found, query.limit);
    const details = await this.details.detailsOf(organizationId, shown);
    return { data: details.map(toDomainDto), total, ...toNextCursor(last?.id) };
  }

  @Get(':id')
  @RequireScope('domain:read')
  @ApiOperation({ summary: 'Read a domain' })
  @ApiData(DomainDto)
  @ApiErrors('resource_not_found')
  detail(@CurrentPrincipal() principal: Principal, @PathId('id', 'Domain') id: string) {
    requireOwn(principal, id);
    return this.show(principal, id);
  }

  @LiveOnly()
  @Patch(':id')
  @ApiOperation({
    summary: 'Change a domain',
    description: 'Fields that are left out stay. It applies to all mail that has not been sent yet, within seconds.',
  })
  @ApiData(DomainDto)
  @ApiErrors('invalid_request', 'resource_not_found')
  async change(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Domain') id: string,
    @Body() { require_tls: requiresTls }: ChangeDomainDto,
  ) {
    requireOwn(principal, id);
    const { organizationId, apiKeyId } = principal;
    if (requiresTls !== undefined) await this.domains.requireTls(organizationId, id, requiresTls, apiKeyId);
    return this.show(principal, id);
  }

  @LiveOnly()
  @Unbound()
  @Post(':id/set-default')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Make a domain the default',
    description: 'Mail leaves from it when `from` names no domain.',
  })
  @ApiData(DomainDto)
  @ApiErrors('domain_not_allowed', 'domain_not_verified', 'resource_not_found')
  async setDefault(@CurrentPrincipal() principal: Principal, @PathId('id', 'Domain') id: string) {
    await this.domains.setDefault(principal.organizationId, id, principal.apiKeyId);
    return this.show(principal, id);
  }

  @LiveOnly()
  @Delete(':id')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Delete a domain',
    description:
      'Its queued mail fails, and API keys that are bound to it are revoked. The default domain can only be deleted last.',
  })
  @ApiResponse({
    status: 200,
    description: 'Success',
    schema: { type: 'object', required: ['success'], properties: { success: { type: 'boolean', enum: [true] } } },
  })
  @ApiErrors('resource_not_found', 'default_domain_in_use')
  async remove(@CurrentPrincipal() principal: Principal, @PathId('id', 'Domain') id: string) {
    requireOwn(principal, id);
    await this.domains.remove(principal.organizationId, id, principal.apiKeyId);
    return { success: true };
  }

  @LiveOnly()
  @Post(':id/verify')
  @HttpCode(200)
  @RateLimitClass('domain-writes')
  @HasOwnTurns()
  @ApiOperation({
    operationId: 'domains.verify',
    summary: 'Verify a domain',
    description: 'Checks every record in DNS now. The response says which records are missing; that is no error.',
  })
  @ApiData(DomainVerificationDto)
  @ApiErrors('resource_not_found')
  async verify(@CurrentPrincipal() principal: Principal, @PathId('id', 'Domain') id: string) {
    requireOwn(principal, id);
    const { organizationId, apiKeyId } = principal;
    return { data: toVerificationDto(await this.verification.verifyAndReport(organizationId, id, apiKeyId)) };
  }

  @LiveOnly()
  @Post(':id/rotate-dkim')
  @HttpCode(200)
  @RateLimitClass('domain-writes')
  @ApiOperation({
    operationId: 'domains.rotateDkim',
    summary: 'Rotate the DKIM key',
    description:
      'Creates a new 2048-bit key, which signs as soon as its record is found in DNS; the previous one stays published ' +
      'and valid for 48 hours from now, and signs until then.',
  })
  @ApiData(DomainDto)
  @ApiErrors('resource_not_found', 'dkim_rotation_in_progress')
  async rotateDkim(@CurrentPrincipal() principal: Principal, @PathId('id', 'Domain') id: string) {
    requireOwn(principal, id);
    await this.keys.rotate(principal.organizationId, id, principal.apiKeyId);
    return this.show(principal, id);
  }

  private async show({ organizationId }: Principal, id: string) {
    return { data: toDomainDto(await this.details.detailOf(await this.domains.get(organizationId, id))) };
  }
}

/** A key that is bound to a domain sees only that one. @throws NotFoundError */
function requireOwn({ domainId }: Principal, id: string): void {
  if (domainId !== undefined && domainId !== id) throw new NotFoundError('Domain');
}
