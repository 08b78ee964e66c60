import { Body, Controller, Delete, Get, HttpCode, Patch, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { RequireScope } from '../../../common/http/scopes';
import { CurrentPrincipal, type Principal } from '../../../common/http/principal';
import { ApiData, ApiErrors, ApiList, PathId } from '../../../common/http/dto/openapi.decorators';
import { AddWebhookDto, ChangeWebhookDto, CreatedWebhookDto, RemovedWebhookDto } from './dto/webhook.dto';
import { toCreatedDto, toWebhookDto, WebhookDto } from './dto/webhook.dto';
import { WebhooksService } from './webhooks.service';

/** `/v1/webhooks`: endpoints and their secrets. */
@ApiTags('Webhooks')
@Controller('v1/webhooks')
@RequireScope('webhook:manage')
export class WebhooksController {
  constructor(private readonly webhooks: WebhooksService) {}

  @Post()
  @ApiOperation({
    summary: 'Add a webhook',
    description: 'It gets the events that happen after this response. The secret is in this response only.',
  })
  @ApiData(CreatedWebhookDto, { status: 201 })
  @ApiErrors('invalid_request', 'webhook_limit_reached')
  async add(@CurrentPrincipal() principal: Principal, @Body() body: AddWebhookDto) {
    return { data: toCreatedDto(await this.webhooks.create(principal, body)) };
  }

  @Get()
  @RequireScope('webhook:read')
  @ApiOperation({
    summary: 'List webhooks',
    description: 'Oldest first. A key that is bound to a domain sees those that such a key has made.',
  })
  @ApiList(WebhookDto, 'total')
  @ApiErrors()
  async list(@CurrentPrincipal() principal: Principal) {
    const endpoints = await this.webhooks.list(principal);
    return { data: endpoints.map(toWebhookDto), total: endpoints.length };
  }

  @Get(':id')
  @RequireScope('webhook:read')
  @ApiOperation({ summary: 'Read a webhook' })
  @ApiData(WebhookDto)
  @ApiErrors('resource_not_found')
  async detail(@CurrentPrincipal() principal: Principal, @PathId('id', 'Webhook') id: string) {
    return { data: toWebhookDto(await this.webhooks.get(principal, id)) };
  }

  @Patch(':id')
  @ApiOperation({
    summary: 'Change a webhook',
    description: 'Fields that are left out stay. Once enabled again, it receives events from then on.',
  })
  @ApiData(WebhookDto)
  @ApiErrors('invalid_request', 'resource_not_found')
  async change(
    @CurrentPrincipal() principal: Principal,
    @PathId('id', 'Webhook') id: string,
    @Body() body: ChangeWebhookDto,
  ) {
    return { data: toWebhookDto(await this.webhooks.update(principal, id, body)) };
  }

  @Delete(':id')
  @HttpCode(200)
  @ApiOperation({
    summary: 'Delete a webhook',
    description: 'Nothing is sent to it any more, but for messages that were about to be sent, within some seconds.',
  })
  @ApiData(RemovedWebhookDto)
  @ApiErrors('resource_not_found')
  async remove(@CurrentPrincipal() principal: Principal, @PathId('id', 'Webhook') id: string) {
    await this.webhooks.remove(principal, id);
    return { data: { id, deleted: true } satisfies RemovedWebhookDto };
  }

  @Post(':id/rotate-secret')
  @HttpCode(200)
  @ApiOperation({
    operationId: 'webhooks.rotateSecret',
    summary: 'Replace the secret',
    description: 'Both secrets sign for 24 hours. The new one is in this response only.',
  })
  @ApiData(CreatedWebhookDto)
  @ApiErrors('resource_not_found')
  async rotateSecret(@CurrentPrincipal() principal: Principal, @PathId('id', 'Webhook') id: string) {
    return { data: toCreatedDto(await this.webhooks.rotateSecret(principal, id)) };
  }
}
