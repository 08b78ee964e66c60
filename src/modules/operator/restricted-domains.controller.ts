import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { ApiCursorList, ApiOperatorErrors } from '../../common/http/dto/openapi.decorators';
import { RequireOperatorScope } from '../../common/http/scopes';
import { RestrictionsService } from '../domains/restrictions/restrictions.service';
import {
  ListRestrictedDomainsQuery,
  RestrictedDomainDto,
  restrictedCursorOf,
  toRestrictedCursor,
  toRestrictedDomainDto,
} from './dto/restricted-domain.dto';

/** Operator: the domains of all organizations that are slowed or paused. */
@ApiTags('Operator')
@Controller('operator/v1/restricted-domains')
@RequireOperatorScope('operator:read')
export class OperatorRestrictedDomainsController {
  constructor(private readonly restrictions: RestrictionsService) {}

  @Get()
  @ApiOperation({
    summary: 'List the domains that are slowed or paused',
    description:
      'Of all organizations, those of an organization together. `waybill domain resume-sending` resumes one.',
  })
  @ApiCursorList(RestrictedDomainDto)
  @ApiOperatorErrors('invalid_request')
  async list(@Query() { limit, cursor }: ListRestrictedDomainsQuery) {
    const found = await this.restrictions.list(toRestrictedCursor(cursor), limit + 1);
    const page = found.slice(0, limit);
    const last = page.at(-1);
    return {
      data: page.map(toRestrictedDomainDto),
      ...(found.length > limit && last && { nextCursor: restrictedCursorOf(last) }),
    };
  }
}
