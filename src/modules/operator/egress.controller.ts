import { Body, Controller, Delete, Get, Param, Patch } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { ApiData, ApiOperatorErrors } from '../../common/http/openapi.decorators';
import { CurrentOperator, type Operator } from '../../common/http/principal';
import { RequireOperatorScope } from '../../common/http/scopes';
import {
  ChangeEgressAddressDto,
  EgressAddressDto,
  EgressPoolDto,
  ReleasedEgressDto,
  toEgressAddressDto,
  toEgressPoolDto,
} from './dto/egress.dto';
import { OperatorEgressService } from './operator-destinations.service';

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
