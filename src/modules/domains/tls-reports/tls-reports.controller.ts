import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { NotFoundError } from '../../../common/errors/app-error';
import { ApiData, ApiErrors } from '../../../common/http/openapi.decorators';
import { PathId } from '../../../common/http/path-id.decorator';
import { CurrentPrincipal, type Principal } from '../../../common/http/principal';
import { RequireScope } from '../../../common/http/scopes';
import { TlsReportsDto, TlsReportsQuery, toTlsReportsDto } from './dto/tls-reports.dto';
import { TlsReportsService } from './tls-reports.service';

@ApiTags('Domains')
@Controller('v1/domains')
@RequireScope('domain:read')
export class TlsReportsController {
  constructor(private readonly reports: TlsReportsService) {}

  @Get(':id/tls-reports')
  @ApiOperation({
    operationId: 'domains.tlsReports',
    summary: 'Read how others reach a domain over TLS',
    description: 'From the reports of senders (RFC 8460) on their connections to the mail exchangers of the domain.',
  })
  @ApiData(TlsReportsDto)
  @ApiErrors('invalid_request', 'resource_not_found')
  async read(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Domain') id: string,
    @Query() { days }: TlsReportsQuery,
  ) {
    // A key that is bound to a domain sees only that one.
    if (principal.domainId !== undefined && principal.domainId !== id) throw new NotFoundError('Domain');
    return { data: toTlsReportsDto(days, await this.reports.view(principal.organizationId, id, days)) };
  }
}
