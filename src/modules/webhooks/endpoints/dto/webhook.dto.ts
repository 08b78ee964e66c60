import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, ArrayUnique, IsArray, IsBoolean, IsIn, IsOptional } from 'class-validator';
import { IsString, MaxLength } from 'class-validator';
import { EVENT_TYPES, INBOUND_RECEIVED } from '../../../../common/event-types';
import type { DisabledReason, WebhookEndpoint } from '../../queue/webhook.entity';
import { EVERY_TYPE } from '../../queue/webhook-queue';
import { MAX_URL_LENGTH } from '../webhook-url.service';
import type { CreatedWebhook } from '../webhooks.service';

const SUBSCRIPTIONS = [...EVENT_TYPES, INBOUND_RECEIVED, EVERY_TYPE] as const;
const MAX_EVENTS = 32;
const DISABLED_REASONS = ['request', 'gone', 'failing'] as const satisfies DisabledReason[];

const URL_FIELD = {
  format: 'uri',
  maxLength: MAX_URL_LENGTH,
  example: 'https://hooks.example.com/mail',
  description: 'https, on port 443 or one from 1024 on; no credentials, no fragment; a host on the public Internet',
};
const EVENTS_FIELD = {
  enum: SUBSCRIPTIONS,
  isArray: true,
  minItems: 1,
  maxItems: MAX_EVENTS,
  uniqueItems: true,
  example: ['delivered', 'bounced'],
  description: '`*`: all types, including future ones',
};
const DESCRIPTION_FIELD = { maxLength: 255, description: 'An empty one removes it' };

export class AddWebhookDto {
  @ApiProperty(URL_FIELD) @IsString() url!: string;

  @ApiProperty(EVENTS_FIELD)
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_EVENTS)
  @ArrayUnique()
  @IsIn(SUBSCRIPTIONS, { each: true })
  events!: string[];

  @ApiPropertyOptional({ maxLength: 255 }) @IsOptional() @IsString() @MaxLength(255) description?: string;

  @ApiPropertyOptional({ default: true }) @IsOptional() @IsBoolean() enabled?: boolean;
}

export class ChangeWebhookDto {
  @ApiPropertyOptional(URL_FIELD) @IsOptional() @IsString() url?: string;

  @ApiPropertyOptional(EVENTS_FIELD)
  @IsOptional()
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_EVENTS)
  @ArrayUnique()
  @IsIn(SUBSCRIPTIONS, { each: true })
  events?: string[];

  @ApiPropertyOptional(DESCRIPTION_FIELD) @IsOptional() @IsString() @MaxLength(255) description?: string;

  @ApiPropertyOptional({ description: 'Once enabled again, it receives events from then on' })
  @IsOptional()
  @IsBoolean()
  enabled?: boolean;
}

export class WebhookDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'uri' }) url!: string;
  @ApiProperty({ enum: SUBSCRIPTIONS, isArray: true }) events!: string[];
  @ApiPropertyOptional() description?: string;
  @ApiPropertyOptional({ format: 'uuid', description: "Only events of this domain's emails" }) domainId?: string;
  @ApiProperty() enabled!: boolean;
  @ApiPropertyOptional({
    enum: DISABLED_REASONS,
    description: '`request`: yours; `gone`: it returned 410; `failing`: only failures for five days',
  })
  disabledReason?: DisabledReason;
  @ApiPropertyOptional({ format: 'date-time' }) disabledAt?: string;
  @ApiPropertyOptional({ format: 'date-time', description: 'Every attempt since then has failed' })
  failingSince?: string;
  @ApiPropertyOptional({ format: 'date-time' }) lastSuccessAt?: string;
  @ApiProperty({ format: 'date-time' }) createdAt!: string;
  @ApiProperty({ format: 'date-time' }) updatedAt!: string;
}

export class CreatedWebhookDto extends WebhookDto {
  @ApiProperty({
    description: 'Signs what is sent (Standard Webhooks); in this response only',
    example: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD',
  })
  secret!: string;
}

export class RemovedWebhookDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ enum: [true] }) deleted!: true;
}

export function toWebhookDto(endpoint: WebhookEndpoint): WebhookDto {
  const { id, url, events, enabled, description, domainId, disabledReason } = endpoint;
  return {
    ...{ id, url, events },
    ...(description !== null && { description }),
    ...(domainId !== null && { domainId }),
    enabled,
    ...(disabledReason !== null && { disabledReason }),
    ...(endpoint.disabledAt && { disabledAt: endpoint.disabledAt.toISOString() }),
    ...(endpoint.failingSince && { failingSince: endpoint.failingSince.toISOString() }),
    ...(endpoint.lastSuccessAt && { lastSuccessAt: endpoint.lastSuccessAt.toISOString() }),
    createdAt: endpoint.createdAt.toISOString(),
    updatedAt: endpoint.updatedAt.toISOString(),
  };
}

export function toCreatedDto({ endpoint, secret }: CreatedWebhook): CreatedWebhookDto {
  return { ...toWebhookDto(endpoint), secret };
}
