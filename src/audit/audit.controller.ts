import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { RequireScope, Unbound } from '../common/http/scopes';
import { CurrentPrincipal, type Principal } from '../common/http/principal';
import { CursorPaginationDto } from '../common/http/dto/envelope.dto';
import { ApiErrors, ApiList } from '../common/http/dto/openapi.decorators';
import { AuditService } from './audit.service';
import { AuditEntryDto, ListAuditEntriesQuery, toAuditEntriesDto, toAuditFilter } from './dto/audit-entry.dto';

/** `/v1/audit-log`: the organization's own entries, newest first. */
@ApiTags('Privacy')
@Controller('v1/audit-log')
@RequireScope('privacy:read')
export class AuditController {
  constructor(private readonly audit: AuditService) {}

  @Unbound()
  @Get()
  @ApiOperation({
    summary: 'Read the audit log',
    description:
      'Who changed what in the organization, newest first. A test key does not see what concerns live keys and data; a ' +
      'key that is bound to a domain sees nothing. Refused requests are sampled.',
  })
  @ApiList(AuditEntryDto, CursorPaginationDto)
  @ApiErrors('invalid_request', 'domain_not_allowed')
  async list(@CurrentPrincipal() principal: Principal, @Query() query: ListAuditEntriesQuery) {
    const page = { limit: query.limit, after: query.cursor?.toLowerCase() };
    const { entries, hasMore } = await this.audit.list(principal, toAuditFilter(query), page);
    return toAuditEntriesDto(entries, query.limit, hasMore);
  }
}
