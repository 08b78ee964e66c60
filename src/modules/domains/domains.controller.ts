import { Body, Controller, Delete, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import { RequireScope } from '../../common/http/require-scope.decorator';
import { CurrentPrincipal } from '../../common/http/current-principal.decorator';
import { ApiData, ApiErrors, ApiList } from '../../common/http/openapi.decorators';
import type { Principal } from '../../common/http/principal';
import { RateLimitClass } from '../../common/http/rate-limit-class.decorator';
import { Unbound } from '../../common/http/unbound.guard';
import { PathId } from '../../common/http/path-id.decorator';
import { DefaultDomainService } from './default-domain.service';
import { requireOwn } from './domain-access';
import { DomainDetailsService } from './domain-details.service';
import { DomainRemovalService } from './domain-removal.service';
import { DomainsService } from './domains.service';
import { AddDomainDto, DomainDto, ListDomainsQuery } from './dto/domain.dto';
import { toDomainDto } from './dto/domain.mapper';

@ApiTags('Domains')
@Controller('v1/domains')
@RequireScope('domain:manage')
export class DomainsController {
  constructor(
    private readonly domains: DomainsService,
    private readonly details: DomainDetailsService,
    private readonly defaults: DefaultDomainService,
    private readonly removal: DomainRemovalService,
  ) {}

  @Unbound()
  @Post()
  @RateLimitClass('domain-writes')
  @ApiOperation({
    summary: 'Add a domain',
    description: 'Publish the records of the answer in DNS, then verify. The first domain becomes the default.',
  })
  @ApiData(DomainDto, { status: 201 })
  @ApiErrors('invalid_request', 'domain_not_allowed', 'domain_already_exists')
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
  @ApiList(DomainDto, 'total')
  @ApiErrors('invalid_request')
  async list(@CurrentPrincipal() { organizationId, domainId }: Principal, @Query() { page, limit }: ListDomainsQuery) {
    const filter = { id: domainId, skip: (page - 1) * limit, take: limit };
    const [domains, total] = await this.domains.page(organizationId, filter);
    return { data: (await this.details.detailsOf(organizationId, domains)).map(toDomainDto), total };
  }

  @Get(':id')
  @RequireScope('domain:read')
  @ApiOperation({ summary: 'Read a domain' })
  @ApiData(DomainDto)
  @ApiErrors('resource_not_found')
  detail(@CurrentPrincipal() principal: Principal, @PathId('id', 'Domain') id: string) {
    requireOwn(principal, id);
    return this.answer(principal, id);
  }

  @Unbound()
  @Post(':id/set-default')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Make a domain the default',
    description: 'Mail leaves from it when `from` names no domain.',
  })
  @ApiData(DomainDto)
  @ApiErrors('domain_not_allowed', 'resource_not_found')
  async setDefault(@CurrentPrincipal() principal: Principal, @PathId('id', 'Domain') id: string) {
    await this.defaults.choose(principal.organizationId, id, principal.apiKeyId);
    return this.answer(principal, id);
  }

  @Delete(':id')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Delete a domain',
    description: 'Its queued mail fails, and API keys that are bound to it are revoked. The default goes last.',
  })
  @ApiResponse({
    status: 200,
    description: 'Success',
    schema: { type: 'object', required: ['success'], properties: { success: { type: 'boolean', enum: [true] } } },
  })
  @ApiErrors('resource_not_found', 'default_domain_in_use')
  async remove(@CurrentPrincipal() principal: Principal, @PathId('id', 'Domain') id: string) {
    requireOwn(principal, id);
    await this.removal.remove(principal.organizationId, id, principal.apiKeyId);
    return { success: true };
  }

  private async answer({ organizationId }: Principal, id: string) {
    return { data: toDomainDto(await this.details.detailOf(await this.domains.get(organizationId, id))) };
  }
}
