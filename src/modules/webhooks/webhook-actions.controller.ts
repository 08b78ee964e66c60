import { Body, Controller, HttpCode, Post } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import { RequireScope } from '../../common/http/require-scope.decorator';
import { CurrentPrincipal } from '../../common/http/current-principal.decorator';
import { ApiData, ApiErrors } from '../../common/http/openapi.decorators';
import type { Principal } from '../../common/http/principal';
import { PathId } from '../../common/http/path-id.decorator';
import { CreatedWebhookDto, ReplayDto, StartedReplayDto } from './dto/webhook.dto';
import { toCreatedDto } from './dto/webhook.mapper';
import { WebhookReplays } from './replay/webhook-replays.service';
import { WebhookRotation } from './webhook-rotation.service';

@ApiTags('Webhooks')
@Controller('v1/webhooks/:id')
@RequireScope('webhook:manage')
export class WebhookActionsController {
  constructor(
    private readonly rotation: WebhookRotation,
    private readonly replays: WebhookReplays,
  ) {}

  @Post('rotate-secret')
  @HttpCode(200)
  @ApiOperation({
    operationId: 'webhooks.rotateSecret',
    summary: 'Replace the secret',
    description: 'Both secrets sign for 24 hours. The new one is in this answer only.',
  })
  @ApiData(CreatedWebhookDto)
  @ApiErrors('resource_not_found')
  async rotateSecret(@CurrentPrincipal() principal: Principal, @PathId('id', 'Webhook') id: string) {
    return { data: toCreatedDto(await this.rotation.rotate(principal, id)) };
  }

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
    await this.replays.start(principal, id, body);
    return { data: { id, replay: 'started' } satisfies StartedReplayDto };
  }
}
