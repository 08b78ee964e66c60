import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import { Timestamp } from '../../../../common/http/dto/dto-decorators';
import { EVENT_TYPES, INBOUND_RECEIVED } from '../../../../common/event-types';
import { type DeliveriesView, type DeliveryDetail, TEST_EVENT_TYPE } from '../webhook-deliveries.service';
import { WEBHOOK_HEADERS } from '../../queue/webhook-queue';
import type { WebhookMessage, WebhookMessageState, WebhookResponse } from '../../queue/webhook.entity';
import { CursorQuery } from '../../../../common/http/dto/envelope.dto';

const STATES = ['pending', 'sending', 'delivered', 'failed'] as const satisfies WebhookMessageState[];
const TYPES = [...EVENT_TYPES, INBOUND_RECEIVED, TEST_EVENT_TYPE] as const;

export class ListDeliveriesQuery extends CursorQuery {
  @ApiPropertyOptional({ enum: STATES }) @IsOptional() @IsIn(STATES) state?: WebhookMessageState;

  @ApiPropertyOptional({ enum: TYPES }) @IsOptional() @IsIn(TYPES) eventType?: string;
}

export class WebhookDeliveryDto {
  @ApiProperty({ format: 'uuid', description: 'The `webhook-id` that the receiver sees: that of the event' })
  id!: string;
  @ApiProperty({ enum: TYPES }) eventType!: string;
  @ApiPropertyOptional({ format: 'uuid' }) emailId?: string;
  @ApiPropertyOptional({ format: 'uuid', description: 'Instead of emailId, of `inbound.received`' })
  inboundEmailId?: string;
  @ApiPropertyOptional({ type: 'integer', description: "Counts the email's events from 1" }) sequence?: number;
  @ApiProperty({ enum: STATES }) state!: WebhookMessageState;
  @ApiProperty({ type: 'integer' }) attempts!: number;
  @ApiPropertyOptional({ format: 'date-time' }) nextAttemptAt?: string;
  @ApiPropertyOptional({ format: 'date-time' }) lastAttemptAt?: string;
  @ApiPropertyOptional({ type: 'integer', description: 'HTTP status of the last response' }) lastStatus?: number;
  @ApiPropertyOptional({ description: 'What went wrong last, or why it was given up' }) lastError?: string;
  @ApiPropertyOptional({ format: 'date-time' }) deliveredAt?: string;
  @ApiProperty({ format: 'date-time' }) createdAt!: string;
}

class DeliveryRequestDto {
  @ApiProperty({ format: 'uri' }) url!: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Without the signature. `webhook-timestamp` is that of the last attempt',
  })
  headers!: Record<string, string>;
  @ApiPropertyOptional({ description: 'JSON; left out once the event has been deleted or erased' }) body?: string;
}

class DeliveryResponseDto {
  @ApiProperty({ type: 'integer' }) status!: number;
  @ApiProperty({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'Those about the server and its limits; none that may hold a secret',
  })
  headers!: Record<string, string>;
  @ApiProperty({ description: 'Its first 4 KiB as UTF-8; addresses of emails in it are masked' }) body!: string;
  @ApiProperty({ description: 'Whether the body was longer' }) truncated!: boolean;
  @ApiProperty({ type: 'integer', description: 'From the look-up of the host to the end of the response' })
  durationMs!: number;
}

export class WebhookDeliveryDetailDto extends WebhookDeliveryDto {
  @ApiProperty({ description: 'What is sent, as it would be now' }) request!: DeliveryRequestDto;
  @ApiPropertyOptional({ description: 'Of the last attempt; left out where there was no response' })
  answer?: DeliveryResponseDto;
}

export class QueuedDeliveryDto {
  @ApiProperty({ format: 'uuid' }) deliveryId!: string;
}

export class ReplayDto {
  @ApiProperty({ format: 'date-time', type: String, description: 'Recorded at or after' })
  @Timestamp()
  from!: Date;

  @ApiPropertyOptional({
    format: 'date-time',
    type: String,
    description: 'Recorded before; by default now. At most 30 days after `from`',
  })
  @IsOptional()
  @Timestamp()
  to?: Date;
}

export class StartedReplayDto {
  @ApiProperty({ format: 'uuid', description: 'Of the webhook' }) id!: string;
  @ApiProperty({ enum: ['started'] }) replay!: 'started';
}

export function toDeliveriesDto({ deliveries, hasMore }: DeliveriesView, { limit }: ListDeliveriesQuery) {
  const last = deliveries.at(-1);
  return {
    data: deliveries.map(toDeliveryDto),
    pagination: { limit, hasMore, ...(hasMore && last && { nextCursor: last.id }) },
  };
}

export function toDeliveryDetailDto({ message, url, payload }: DeliveryDetail): WebhookDeliveryDetailDto {
  const { id, lastAttemptAt, lastResponse, lastStatus } = message;
  const sentAt = lastAttemptAt && { 'webhook-timestamp': String(Math.floor(lastAttemptAt.getTime() / 1_000)) };
  const headers = { ...WEBHOOK_HEADERS, 'webhook-id': id, ...sentAt };
  return {
    ...toDeliveryDto(message),
    request: { url, headers, ...(payload !== undefined && { body: payload }) },
    ...(lastResponse && lastStatus !== null && { answer: toResponseDto(lastStatus, lastResponse) }),
  };
}

function toResponseDto(status: number, { headers, body, isCut, durationMs }: WebhookResponse) {
  return { status, headers: { ...headers }, body, truncated: isCut, durationMs };
}

function toDeliveryDto(message: WebhookMessage): WebhookDeliveryDto {
  const { id, eventType, emailId, sequence, state, attempts, lastStatus, lastError } = message;
  return {
    ...{ id, eventType },
    ...(emailId !== null && (eventType === INBOUND_RECEIVED ? { inboundEmailId: emailId } : { emailId })),
    ...(sequence !== null && sequence > 0 && { sequence }),
    ...{ state, attempts },
    ...(state === 'pending' && { nextAttemptAt: message.nextAttemptAt.toISOString() }),
    ...(message.lastAttemptAt && { lastAttemptAt: message.lastAttemptAt.toISOString() }),
    ...(lastStatus !== null && { lastStatus }),
    ...(lastError !== null && { lastError }),
    ...(message.deliveredAt && { deliveredAt: message.deliveredAt.toISOString() }),
    createdAt: message.createdAt.toISOString(),
  };
}
