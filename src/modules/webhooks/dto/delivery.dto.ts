import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsUUID } from 'class-validator';
import { QueryInteger } from '../../../common/http/dto-decorators';
import { EVENT_TYPES, INBOUND_RECEIVED } from '../../../common/event-types';
import { TEST_EVENT_TYPE } from '../webhook-deliveries.service';
import type { WebhookMessageState } from '../webhook-message.entity';

const STATES = ['pending', 'sending', 'delivered', 'failed'] as const satisfies WebhookMessageState[];
const TYPES = [...EVENT_TYPES, INBOUND_RECEIVED, TEST_EVENT_TYPE] as const;

export class ListDeliveriesQuery {
  @ApiPropertyOptional({ enum: STATES }) @IsOptional() @IsIn(STATES) state?: WebhookMessageState;

  @ApiPropertyOptional({ enum: TYPES }) @IsOptional() @IsIn(TYPES) eventType?: string;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 50 }) @QueryInteger(1, 100) limit: number =
    50;

  @ApiPropertyOptional({ format: 'uuid', description: 'The `nextCursor` of the page before' })
  @IsOptional()
  @IsUUID()
  cursor?: string;
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
  @ApiPropertyOptional({ type: 'integer', description: 'HTTP status of the last answer' }) lastStatus?: number;
  @ApiPropertyOptional({ description: 'What went wrong last, or why it was given up' }) lastError?: string;
  @ApiPropertyOptional({ format: 'date-time' }) deliveredAt?: string;
  @ApiProperty({ format: 'date-time' }) createdAt!: string;
}

export class QueuedDeliveryDto {
  @ApiProperty({ format: 'uuid' }) deliveryId!: string;
}
