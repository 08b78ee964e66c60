import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsIn, IsObject, IsOptional, IsString, IsUUID, Length, Matches, ValidateNested } from 'class-validator';
import { QueryInteger } from '../../../common/http/dto/dto-decorators';
import { type Mode, MODES } from '../../../common/tenant';
import { WAITING_REASONS } from '../../../delivery/queue/waiting';

const GROUPS = ['organization', 'destination', 'state'] as const;
const STATES = ['waiting', 'ready', 'claimed', 'held'] as const;
const ACTIONS = ['retry_now', 'hold', 'release', 'fail'] as const;

const MAX_DOMAIN = 255;
const MAX_ADDRESS = 320;
const MAX_REASON = 500;
/** Four parts, the last a number. */
const CURSOR = /^[\w-]{1,200}$/;

/** Query of `GET /operator/v1/queue`. */
export class CountQueueQuery {
  @ApiPropertyOptional({ enum: GROUPS, default: 'organization' }) @IsIn(GROUPS) by: (typeof GROUPS)[number] =
    'organization';

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 500, default: 100 })
  @QueryInteger(1, 500)
  limit: number = 100;
}

/** One organization, destination or state with its number of open deliveries. */
export class QueueShareDto {
  @ApiProperty({ description: 'The id of an organization, a domain of recipients, or a state' }) key!: string;
  @ApiPropertyOptional({ description: 'The name, for an organization' }) name?: string;
  @ApiProperty({ type: 'integer' }) ready!: number;
  @ApiProperty({ type: 'integer' }) waiting!: number;
  @ApiProperty({ type: 'integer' }) claimed!: number;
  @ApiProperty({ type: 'integer' }) held!: number;
  @ApiProperty({ type: 'integer', description: 'Since the first of them was due for the first time' })
  oldestSeconds!: number;
}

/** Query of `GET /operator/v1/queue/deliveries`. */
export class ListDeliveriesQuery {
  @ApiPropertyOptional({ format: 'uuid' }) @IsOptional() @IsUUID() organization_id?: string;

  @ApiPropertyOptional({ description: "A recipient's domain", example: 'example.com' })
  @IsOptional()
  @IsString()
  @Length(1, MAX_DOMAIN)
  destination?: string;

  @ApiPropertyOptional({ enum: STATES }) @IsOptional() @IsIn(STATES) state?: (typeof STATES)[number];

  @ApiPropertyOptional({ format: 'uuid' }) @IsOptional() @IsUUID() email_id?: string;

  @ApiPropertyOptional({ example: 'ada@example.com' })
  @IsOptional()
  @IsString()
  @Length(1, MAX_ADDRESS)
  recipient?: string;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 50 }) @QueryInteger(1, 100) limit: number =
    50;

  @ApiPropertyOptional({ description: 'The `nextCursor` of the page before' })
  @IsOptional()
  @Matches(CURSOR, { message: 'cursor must be the nextCursor of a page' })
  cursor?: string;
}

class DeliveryWaitingDto {
  @ApiProperty({
    enum: WAITING_REASONS,
    description:
      '`scheduled`: for its time; `retry`: for its next attempt; `turn`: for its turn among all; `held`: an operator has put ' +
      'it aside; `sending`: a worker has it',
  })
  reason!: (typeof WAITING_REASONS)[number];
  @ApiPropertyOptional({ format: 'date-time' }) until?: string;
  @ApiProperty({ description: 'A sentence' }) detail!: string;
}

/** A delivery that has not ended, and what it waits for. */
export class OpenDeliveryDto {
  @ApiProperty({ format: 'uuid' }) emailId!: string;
  @ApiProperty({ format: 'uuid' }) organizationId!: string;
  @ApiProperty({ enum: MODES }) mode!: Mode;
  @ApiProperty({ example: 'ada@example.com' }) recipient!: string;
  @ApiProperty({ description: "The recipient's domain", example: 'example.com' }) destination!: string;
  @ApiProperty({ enum: STATES }) state!: (typeof STATES)[number];
  @ApiProperty({ type: 'integer', description: 'Attempts started so far' }) attempts!: number;
  @ApiProperty({ format: 'date-time' }) dueAt!: string;
  @ApiProperty() waiting!: DeliveryWaitingDto;
  @ApiProperty({ format: 'date-time', description: 'When it is given up at the latest' }) endsAt!: string;
}

class QueueFilterDto {
  @ApiPropertyOptional({ format: 'uuid' }) @IsOptional() @IsUUID() organizationId?: string;

  @ApiPropertyOptional({ description: "A recipient's domain", example: 'example.com' })
  @IsOptional()
  @IsString()
  @Length(1, MAX_DOMAIN)
  destination?: string;

  @ApiPropertyOptional({ format: 'uuid' }) @IsOptional() @IsUUID() emailId?: string;

  @ApiPropertyOptional({ example: 'ada@example.com' })
  @IsOptional()
  @IsString()
  @Length(1, MAX_ADDRESS)
  recipient?: string;
}

const FILTER_FIELD = { description: 'At least one; all that are given must match' };

/** Body of `POST /operator/v1/queue/actions`; the filter needs at least one property. */
export class StartQueueActionDto {
  @ApiProperty({
    enum: ACTIONS,
    description:
      '`retry_now`: deliveries that wait for their next attempt are due now; `hold`: they are held, while their time to live ' +
      'continues; `release`: held ones return to the queue; `fail`: they end, with an event `failed` of reason `operator`',
  })
  @IsIn(ACTIONS)
  action!: (typeof ACTIONS)[number];

  @ApiProperty({ type: QueueFilterDto, ...FILTER_FIELD })
  @IsObject()
  @ValidateNested()
  @Type(() => QueueFilterDto)
  filter!: QueueFilterDto;

  @ApiProperty({
    minLength: 1,
    maxLength: MAX_REASON,
    description: 'Kept with the action; that of `hold` is shown to senders whose mail expires before it is released',
    example: 'Receiver is down',
  })
  @IsString()
  @Length(1, MAX_REASON)
  reason!: string;
}

/** Response of `POST /operator/v1/queue/actions`. */
export class StartedQueueActionDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ enum: ACTIONS }) action!: (typeof ACTIONS)[number];
  @ApiProperty({ enum: ['running', 'completed'] }) status!: 'running' | 'completed';
}

/** Response of `GET /operator/v1/queue/actions/{id}`: how far the action has come. */
export class QueueActionDto extends StartedQueueActionDto {
  @ApiProperty({ type: QueueFilterDto, description: 'A recipient is not kept once the action is completed' })
  filter!: QueueFilterDto;
  @ApiProperty() reason!: string;
  @ApiProperty({ example: 'operator:0197a3f2-6c1e-7b60-9d52-3f1c0e6a4b28' }) actor!: string;
  @ApiProperty({ type: 'integer', description: 'Deliveries that it is for, as far as it has come' }) matched!: number;
  @ApiProperty({ type: 'integer', description: 'Those that it has changed' }) changed!: number;
  @ApiProperty({ type: 'integer', description: 'Those that it left alone because a worker had them' }) claimed!: number;
  @ApiProperty({ format: 'date-time' }) createdAt!: string;
  @ApiPropertyOptional({ format: 'date-time' }) completedAt?: string;
}
