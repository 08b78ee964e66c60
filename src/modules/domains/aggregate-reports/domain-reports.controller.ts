import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { NotFoundError } from '../../../common/errors/app-error';
import { ApiData, ApiErrors, PathId } from '../../../common/http/dto/openapi.decorators';
import { CurrentPrincipal, type Principal } from '../../../common/http/principal';
import { RequireScope } from '../../../common/http/scopes';
import { DmarcReportsService, TlsReportsService } from './aggregate-reports.service';
import { DmarcDto, ReportDaysQuery, TlsReportsDto, toDmarcDto, toTlsReportsDto } from './dto/domain-reports.dto';

/** `/v1/domains/{id}`: reports of receivers and senders about a domain. A key that is bound to a domain sees only that one. */
@ApiTags('Domains')
@Controller('v1/domains')
@RequireScope('domain:read')
export class DomainReportsController {
  constructor(
    private readonly dmarc: DmarcReportsService,
    private readonly tls: TlsReportsService,
  ) {}

  @Get(':id/dmarc')
  @ApiOperation({
    operationId: 'domains.dmarc',
    summary: 'Read who sends as a domain',
    description:
      'From the DMARC reports of receivers: sources, how much of their mail passes, and whether the policy can be raised.',
  })
  @ApiData(DmarcDto)
  @ApiErrors('invalid_request', 'resource_not_found')
  async readDmarc(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Domain') id: string,
    @Query() { days }: ReportDaysQuery,
  ) {
    requireAccess(principal, id);
    return { data: toDmarcDto(days, await this.dmarc.view(principal.organizationId, id, days)) };
  }

  @Get(':id/tls-reports')
  @ApiOperation({
    operationId: 'domains.tlsReports',
    summary: 'Read how others reach a domain over TLS',
    description: 'From the reports of senders (RFC 8460) on their connections to the mail exchangers of the domain.',
  })
  @ApiData(TlsReportsDto)
  @ApiErrors('invalid_request', 'resource_not_found')
  async readTls(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Domain') id: string,
    @Query() { days }: ReportDaysQuery,
  ) {
    requireAccess(principal, id);
    return { data: toTlsReportsDto(days, await this.tls.view(principal.organizationId, id, days)) };
  }
}

/** @throws NotFoundError */
function requireAccess({ domainId }: Principal, id: string): void {
  if (domainId !== undefined && domainId !== id) throw new NotFoundError('Domain');
}
