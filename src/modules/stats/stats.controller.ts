import { Controller, Get, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { RequireScope } from '../../common/http/scopes';
import { CurrentPrincipal, type Principal } from '../../common/http/principal';
import { ApiData, ApiErrors } from '../../common/http/dto/openapi.decorators';
import { RateLimitClass } from '../../common/http/request/request-limits';
import {
  StatsByDomainDto,
  StatsByHourDto,
  hourlyPeriodOf,
  StatsByDomainQuery,
  periodOf,
  StatsByProviderDto,
  ReputationDto,
  ReputationQuery,
  StatsSummaryDto,
  StatsQuery,
} from './dto/stats.dto';
import {
  toDomainStatsDto,
  toHourStatsDto,
  toPeriodDto,
  toProviderStatsDto,
  toReputationDto,
  toStatsDto,
} from './dto/stats.mapper';
import { StatsReportService } from './stats-report.service';

/** `/v1/stats`: counters in total, by domain, provider and hour, and the reputation. */
@ApiTags('Statistics')
@Controller('v1/stats')
@RequireScope('stats:read')
@RateLimitClass('stats')
export class StatsController {
  constructor(private readonly report: StatsReportService) {}

  @Get()
  @ApiOperation({
    summary: 'Read the totals of a period',
    description: 'Counts of recipients, by the UTC hour in which something happened.',
  })
  @ApiData(StatsSummaryDto)
  @ApiErrors('invalid_request', 'resource_not_found')
  async totals(@CurrentPrincipal() principal: Principal, @Query() query: StatsQuery) {
    const period = periodOf(query);
    const totals = await this.report.totals(principal, period, query.domain_id);
    return { data: { period: toPeriodDto(period), stats: toStatsDto(totals) } };
  }

  @Get('domains')
  @ApiOperation({
    summary: 'Read the totals of a period, domain by domain',
    description: 'Includes removed domains.',
  })
  @ApiData(StatsByDomainDto)
  @ApiErrors('invalid_request')
  async byDomain(@CurrentPrincipal() principal: Principal, @Query() query: StatsByDomainQuery) {
    const { limit, offset } = query;
    const period = periodOf(query);
    const found = await this.report.byDomain(principal, period, { skip: offset, take: limit + 1 });
    const domains = found.slice(0, limit).map(toDomainStatsDto);
    return { data: { period: toPeriodDto(period), domains, hasMore: found.length > limit } };
  }

  @Get('providers')
  @ApiOperation({
    summary: 'Read the results of mail, by the group of receivers',
    description:
      'Large receivers, by their mail exchangers, else by the domains of their mailboxes; the rest is `other`.',
  })
  @ApiData(StatsByProviderDto)
  @ApiErrors('invalid_request', 'resource_not_found')
  async byProvider(@CurrentPrincipal() principal: Principal, @Query() query: StatsQuery) {
    const period = periodOf(query);
    const providers = await this.report.byProvider(principal, period, query.domain_id);
    return { data: { period: toPeriodDto(period), providers: providers.map(toProviderStatsDto) } };
  }

  @Get('hourly')
  @ApiOperation({ summary: 'Read the counts of a period, hour by hour', description: 'Seven days at most.' })
  @ApiData(StatsByHourDto)
  @ApiErrors('invalid_request', 'resource_not_found')
  async byHour(@CurrentPrincipal() principal: Principal, @Query() query: StatsQuery) {
    const period = hourlyPeriodOf(query);
    const hours = await this.report.byHour(principal, period, query.domain_id);
    return { data: { period: toPeriodDto(period), hourly: hours.map(toHourStatsDto) } };
  }

  @Get('reputation')
  @ApiOperation({
    summary: 'Read the sender reputation',
    description: 'From the last 30 days: 100 less what bounces, complaints and missing deliveries cost.',
  })
  @ApiData(ReputationDto)
  @ApiErrors('invalid_request', 'resource_not_found')
  async reputation(@CurrentPrincipal() principal: Principal, @Query() query: ReputationQuery) {
    const reputation = await this.report.reputation(principal, query.domain_id);
    return { data: toReputationDto(principal.organizationId, reputation) };
  }
}
