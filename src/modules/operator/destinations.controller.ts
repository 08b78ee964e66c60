import { Body, Controller, Delete, Get, Param, Patch, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { PaginationDto } from '../../common/http/envelope.dto';
import { ApiData, ApiList, ApiOperatorErrors, PathId } from '../../common/http/openapi.decorators';
import { CurrentOperator, type Operator } from '../../common/http/principal';
import { RequireOperatorScope } from '../../common/http/scopes';
import { ChangeDestinationDto, DestinationDto, ListDestinationsQuery, toDestinationDto } from './dto/destination.dto';
import { OperatorDestinationsService } from './operator-destinations.service';

/** Operator: destinations, their limits, pauses and rules. */
@ApiTags('Operator')
@Controller('operator/v1/destinations')
export class OperatorDestinationsController {
  constructor(private readonly destinations: OperatorDestinationsService) {}

  @Get()
  @RequireOperatorScope('operator:read')
  @ApiOperation({
    summary: 'List groups of destinations',
    description:
      'Domains with the same mail exchangers share one. Those to which anything was sent within the last hour, or that have ' +
      'rules, the busiest first.',
  })
  @ApiList(DestinationDto, PaginationDto)
  @ApiOperatorErrors('invalid_request')
  async list(@Query() { q, state, page, limit }: ListDestinationsQuery) {
    const slice = { skip: (page - 1) * limit, take: limit };
    const [found, total] = await this.destinations.page({ text: q, state }, slice);
    return {
      data: found.map(toDestinationDto),
      pagination: { page, limit, total, totalPages: Math.ceil(total / limit) },
    };
  }

  @Get(':key')
  @RequireOperatorScope('operator:read')
  @ApiOperation({ summary: 'Get a group of destinations' })
  @ApiData(DestinationDto)
  @ApiOperatorErrors('resource_not_found')
  async get(@Param('key') key: string) {
    return { data: toDestinationDto(await this.destinations.get(key)) };
  }

  @Patch(':key')
  @RequireOperatorScope('operator:manage')
  @ApiOperation({
    summary: 'Pause, resume or limit a group of destinations',
    description:
      'Every worker applies it within 5 seconds. Mail to a paused group waits in the queue, where it can expire.',
  })
  @ApiData(DestinationDto)
  @ApiOperatorErrors('invalid_request')
  async change(@CurrentOperator() { actor }: Operator, @Param('key') key: string, @Body() body: ChangeDestinationDto) {
    return { data: toDestinationDto(await this.destinations.change(key, body, actor)) };
  }

  @Delete(':key/rules/:id')
  @RequireOperatorScope('operator:manage')
  @ApiOperation({
    summary: 'Remove a rule, learned or set by an operator',
    description: 'Returns the group without it. Rules of a profile cannot be removed.',
  })
  @ApiData(DestinationDto)
  @ApiOperatorErrors('resource_not_found')
  async removeRule(
    @CurrentOperator() { actor }: Operator,
    @Param('key') key: string,
    @PathId('id', 'Rule') id: string,
  ) {
    return { data: toDestinationDto(await this.destinations.removeRule(key, id, actor)) };
  }
}
