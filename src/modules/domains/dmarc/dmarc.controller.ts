import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { NotFoundError } from '../../../common/errors/app-error';
import { ApiData, ApiErrors } from '../../../common/http/openapi.decorators';
import { PathId } from '../../../common/http/path-id.decorator';
import { CurrentPrincipal, type Principal } from '../../../common/http/principal';
import { RequireScope } from '../../../common/http/scopes';
import { DmarcReportsService } from './dmarc-reports.service';
import { DmarcDto, DmarcQuery, toDmarcDto } from './dto/dmarc.dto';

@ApiTags('Domains')
@Controller('v1/domains')
@RequireScope('domain:read')
export class DmarcController {
  constructor(private readonly reports: DmarcReportsService) {}

  @Get(':id/dmarc')
  @ApiOperation({
    operationId: 'domains.dmarc',
    summary: 'Read who sends as a domain',
    description:
      'From the DMARC reports of receivers: sources, what of their mail passes, and whether the policy can be raised.',
  })
  @ApiData(DmarcDto)
  @ApiErrors('invalid_request', 'resource_not_found')
  async read(@CurrentPrincipal() principal: Principal, @PathId('id', 'Domain') id: string, @Query() query: DmarcQuery) {
    // A key that is bound to a domain sees only that one.
    if (principal.domainId !== undefined && principal.domainId !== id) throw new NotFoundError('Domain');
    return { data: toDmarcDto(query.days, await this.reports.view(principal.organizationId, id, query.days)) };
  }
}
