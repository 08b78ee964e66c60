import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { ApiCursorList, ApiData, ApiOperatorErrors, PathId } from '../../common/http/dto/openapi.decorators';
import { CurrentOperator, type Operator } from '../../common/http/principal';
import { RequireOperatorScope } from '../../common/http/scopes';
import {
  CountQueueQuery,
  ListDeliveriesQuery,
  QueueActionDto,
  OpenDeliveryDto,
  QueueShareDto,
  StartedQueueActionDto,
  StartQueueActionDto,
} from './dto/queue.dto';
import {
  cursorOf,
  toCursor,
  toDeliveryFilter,
  toQueueActionDto,
  toOpenDeliveryDto,
  toStartedDto,
} from './dto/queue.mapper';
import { OperatorDeliveriesService, OperatorQueueService } from './queue.service';

/** Operator: the queue of all organizations, and actions on its deliveries. */
@ApiTags('Operator')
@Controller('operator/v1/queue')
export class OperatorQueueController {
  constructor(
    private readonly queue: OperatorQueueService,
    private readonly deliveries: OperatorDeliveriesService,
  ) {}

  @Get()
  @RequireOperatorScope('operator:read')
  @ApiOperation({
    summary: 'Count open deliveries',
    description: 'By organization, destination or state, the largest shares first. At most a few seconds old.',
  })
  @ApiData(QueueShareDto, { isArray: true })
  @ApiOperatorErrors('invalid_request')
  async count(@Query() { by, limit }: CountQueueQuery) {
    return { data: await this.queue.countBy(by, limit) };
  }

  @Get('deliveries')
  @RequireOperatorScope('operator:read')
  @ApiOperation({ summary: 'List open deliveries', description: 'Each with what it waits for.' })
  @ApiCursorList(OpenDeliveryDto)
  @ApiOperatorErrors('invalid_request')
  async list(@Query() query: ListDeliveriesQuery) {
    const page = await this.deliveries.list(toDeliveryFilter(query), toCursor(query.cursor), query.limit);
    const last = page.deliveries.at(-1);
    return {
      data: page.deliveries.map(toOpenDeliveryDto),
      ...(page.hasMore && last && { nextCursor: cursorOf(last) }),
    };
  }

  @Post('actions')
  @RequireOperatorScope('operator:manage')
  @HttpCode(202)
  @ApiOperation({
    summary: 'Retry, hold, release or fail open deliveries',
    description:
      'Starts within a second or two and works in batches. Deliveries that a worker has claimed are not changed.',
  })
  @ApiData(StartedQueueActionDto, { status: 202 })
  @ApiOperatorErrors('invalid_request')
  async start(@CurrentOperator() { actor }: Operator, @Body() { action, filter, reason }: StartQueueActionDto) {
    return { data: toStartedDto(await this.queue.start({ action, filter, reason, actor })) };
  }

  @Get('actions/:id')
  @RequireOperatorScope('operator:read')
  @ApiOperation({ summary: 'See how far an action on the queue has come' })
  @ApiData(QueueActionDto)
  @ApiOperatorErrors('resource_not_found')
  async get(@PathId('id', 'Queue action') id: string) {
    return { data: toQueueActionDto(await this.queue.get(id)) };
  }
}
