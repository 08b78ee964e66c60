import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { RequireScope } from '../../../common/http/scopes';
import { CurrentPrincipal, type Principal } from '../../../common/http/principal';
import { ApiData, ApiErrors, ApiList, PathId } from '../../../common/http/dto/openapi.decorators';
import { CursorPaginationDto } from '../../../common/http/dto/envelope.dto';
import {
  ListDeliveriesQuery,
  QueuedDeliveryDto,
  ReplayDto,
  StartedReplayDto,
  toDeliveriesDto,
  toDeliveryDetailDto,
  WebhookDeliveryDetailDto,
  WebhookDeliveryDto,
} from './dto/delivery.dto';
import { WebhookDeliveriesService } from './webhook-deliveries.service';

/** Deliveries of a webhook endpoint: list, read, test, send again, replay. */
@ApiTags('Webhooks')
@Controller('v1/webhooks/:id')
@RequireScope('webhook:manage')
export class WebhookDeliveriesController {
  constructor(private readonly deliveries: WebhookDeliveriesService) {}

  @Post('replay')
  @HttpCode(202)
  @ApiOperation({
    operationId: 'webhooks.replay',
    summary: 'Send the events of a span of time again',
    description:
      'Those that the webhook wants to hear of, with their ids, whether they have been delivered or not. The deliveries ' +
      'are made in the background.',
  })
  @ApiData(StartedReplayDto, { status: 202 })
  @ApiErrors('invalid_request', 'resource_not_found', 'webhook_disabled', 'webhook_replay_in_progress')
  async replay(@CurrentPrincipal() principal: Principal, @PathId('id', 'Webhook') id: string, @Body() body: ReplayDto) {
    await this.deliveries.replay(principal, id, body);
    return { data: { id, replay: 'started' } satisfies StartedReplayDto };
  }

  @Get('deliveries')
  @RequireScope('webhook:read')
  @ApiOperation({
    operationId: 'webhooks.deliveries',
    summary: 'List deliveries',
    description: 'Those of the newest events first. They are kept for 30 days.',
  })
  @ApiList(WebhookDeliveryDto, CursorPaginationDto)
  @ApiErrors('invalid_request', 'resource_not_found')
  async list(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Webhook') id: string,
    @Query() query: ListDeliveriesQuery,
  ) {
    const { state, eventType, limit, cursor } = query;
    const after = cursor?.toLowerCase();
    return toDeliveriesDto(await this.deliveries.list(principal, id, { state, eventType }, { limit, after }), query);
  }

  @Get('deliveries/:deliveryId')
  @RequireScope('webhook:read')
  @ApiOperation({
    operationId: 'webhooks.delivery',
    summary: 'Read a delivery with its request and response',
    description: 'What is sent, without the signature, and the beginning of the response to the last attempt.',
  })
  @ApiData(WebhookDeliveryDetailDto)
  @ApiErrors('resource_not_found')
  async detail(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Webhook') id: string,
    @PathId('deliveryId', 'Delivery') deliveryId: string,
  ) {
    return { data: toDeliveryDetailDto(await this.deliveries.detail(principal, id, deliveryId)) };
  }

  @Post('test')
  @HttpCode(202)
  @ApiOperation({
    operationId: 'webhooks.test',
    summary: 'Send a test',
    description: 'An event of type `webhook.test`, signed and retried like any other.',
  })
  @ApiData(QueuedDeliveryDto, { status: 202 })
  @ApiErrors('resource_not_found', 'webhook_disabled', 'webhook_queue_full')
  async test(@CurrentPrincipal() principal: Principal, @PathId('id', 'Webhook') id: string) {
    return { data: { deliveryId: await this.deliveries.sendTest(principal, id) } satisfies QueuedDeliveryDto };
  }

  @Post('deliveries/:deliveryId/redeliver')
  @HttpCode(202)
  @ApiOperation({
    operationId: 'webhooks.redeliver',
    summary: 'Deliver again',
    description: 'At once, and with all its retries, also what has been delivered.',
  })
  @ApiData(QueuedDeliveryDto, { status: 202 })
  @ApiErrors('resource_not_found', 'webhook_disabled', 'webhook_queue_full')
  async redeliver(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Webhook') id: string,
    @PathId('deliveryId', 'Delivery') deliveryId: string,
  ) {
    await this.deliveries.redeliver(principal, id, deliveryId);
    return { data: { deliveryId } satisfies QueuedDeliveryDto };
  }
}
