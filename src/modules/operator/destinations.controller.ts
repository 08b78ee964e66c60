import { Body, Controller, Delete, Get, Param, Patch, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { toPagination } from '../../common/http/dto/pagination';
import { PaginationDto } from '../../common/http/dto/envelope.dto';
import { ApiData, ApiList, ApiOperatorErrors, PathId } from '../../common/http/dto/openapi.decorators';
import { CurrentOperator, type Operator } from '../../common/http/principal';
import { RequireOperatorScope } from '../../common/http/scopes';
import { ChangeDestinationDto, DestinationDto, ListDestinationsQuery, toDestinationDto } from './dto/destination.dto';
import { OperatorDestinationsService, OperatorEgressService } from './operator-destinations.service';
import {
  ChangeEgressAddressDto,
  EgressAddressDto,
  EgressPoolDto,
  ReleasedEgressDto,
  toEgressAddressDto,
  toEgressPoolDto,
} from './dto/egress.dto';

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
      'Domains with the same mail exchangers share one. Lists those with mail within the last hour or with ' +
      'rules, busiest first.',
  })
  @ApiList(DestinationDto, PaginationDto)
  @ApiOperatorErrors('invalid_request')
  async list(@Query() { q, state, page, limit }: ListDestinationsQuery) {
    const slice = { skip: (page - 1) * limit, take: limit };
    const [found, total] = await this.destinations.page({ text: q, state }, slice);
    return {
      data: found.map(toDestinationDto),
      pagination: toPagination({ total }, { page, limit }),
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

/** Operator: source addresses, their pools, warm-up and suspensions. */
@ApiTags('Operator')
@Controller('operator/v1/egress')
export class OperatorEgressController {
  constructor(private readonly egress: OperatorEgressService) {}

  @Get()
  @RequireOperatorScope('operator:read')
  @ApiOperation({
    summary: 'List the addresses that mail leaves from',
    description:
      'By pool, in the order of `EGRESS_POOLS`, with the receivers that refuse an address for its reputation, and how far ' +
      'new addresses are with their warm-up. The pool `default`, with one address of that name, is the choice of the system.',
  })
  @ApiData(EgressPoolDto, { isArray: true })
  @ApiOperatorErrors()
  async list() {
    return { data: (await this.egress.list()).map(toEgressPoolDto) };
  }

  @Patch(':address')
  @RequireOperatorScope('operator:manage')
  @ApiOperation({
    summary: 'Skip the warm-up of an address, or restart it',
    description:
      'Every worker applies it within 5 seconds. `skip`: it has no daily volume any longer, as one that receivers know already. ' +
      '`restart`: it begins again with day 1. Mail that waits for the next day already keeps its time: make it due with ' +
      '`POST /operator/v1/queue/actions`.',
  })
  @ApiData(EgressAddressDto)
  @ApiOperatorErrors('invalid_request', 'resource_not_found')
  async change(
    @CurrentOperator() { actor }: Operator,
    @Param('address') address: string,
    @Body() { warmUp }: ChangeEgressAddressDto,
  ) {
    return { data: toEgressAddressDto(await this.egress.changeWarmUp(address, warmUp, actor)) };
  }

  @Delete(':address/suspensions/:destination')
  @RequireOperatorScope('operator:manage')
  @ApiOperation({
    summary: 'Send from an address to a receiver that has refused it',
    description:
      'After a delisting. It takes effect in every worker within 5 seconds; a further refusal suspends it again.',
  })
  @ApiData(ReleasedEgressDto)
  @ApiOperatorErrors('resource_not_found')
  async release(
    @CurrentOperator() { actor }: Operator,
    @Param('address') address: string,
    @Param('destination') destination: string,
  ) {
    await this.egress.release(address, destination, actor);
    return { data: { address, destination, released: true } satisfies ReleasedEgressDto };
  }
}
