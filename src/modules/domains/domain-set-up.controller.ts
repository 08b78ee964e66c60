import { Controller, HttpCode, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { RequireScope } from '../../common/http/require-scope.decorator';
import { CurrentPrincipal } from '../../common/http/current-principal.decorator';
import { ApiData, ApiErrors } from '../../common/http/openapi.decorators';
import type { Principal } from '../../common/http/principal';
import { RateLimitClass } from '../../common/http/rate-limit-class.decorator';
import { PathId } from '../../common/http/path-id.decorator';
import { DkimRotationService } from './dkim/dkim-rotation.service';
import { requireOwn } from './domain-access';
import { DomainDetailsService } from './domain-details.service';
import { DomainReportsService } from './domain-reports.service';
import { DomainsService } from './domains.service';
import { DomainDto, DomainVerificationDto } from './dto/domain.dto';
import { toDomainDto, toVerificationDto } from './dto/domain.mapper';

/** What a domain's owner does in step with the DNS. */
@ApiTags('Domains')
@Controller('v1/domains/:id')
@RequireScope('domain:manage')
@RateLimitClass('domain-writes')
export class DomainSetUpController {
  constructor(
    private readonly domains: DomainsService,
    private readonly details: DomainDetailsService,
    private readonly reports: DomainReportsService,
    private readonly rotation: DkimRotationService,
  ) {}

  @Post('verify')
  @HttpCode(200)
  @ApiOperation({
    operationId: 'domains.verify',
    summary: 'Verify a domain',
    description: 'Looks every record up in DNS now. A record that is missing is told in the answer; it is no error.',
  })
  @ApiData(DomainVerificationDto)
  @ApiErrors('resource_not_found')
  async verify(@CurrentPrincipal() principal: Principal, @PathId('id', 'Domain') id: string) {
    requireOwn(principal, id);
    return { data: toVerificationDto(await this.reports.verify(principal.organizationId, id, principal.apiKeyId)) };
  }

  @Post('rotate-dkim')
  @HttpCode(200)
  @ApiOperation({
    operationId: 'domains.rotateDkim',
    summary: 'Rotate the DKIM key',
    description:
      'Makes a new 2048-bit key, which signs as soon as its record has been seen in DNS; the one before stays published ' +
      'and valid for 48 hours from now, and signs until then.',
  })
  @ApiData(DomainDto)
  @ApiErrors('resource_not_found', 'dkim_rotation_in_progress')
  async rotateDkim(@CurrentPrincipal() principal: Principal, @PathId('id', 'Domain') id: string) {
    requireOwn(principal, id);
    const { organizationId, apiKeyId } = principal;
    await this.rotation.rotate(organizationId, id, apiKeyId);
    return { data: toDomainDto(await this.details.detailOf(await this.domains.get(organizationId, id))) };
  }
}
