import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsUUID } from 'class-validator';
import { ValidationError } from '../../../common/errors/app-error';
import { QueryInteger, Timestamp } from '../../../common/http/dto/dto-decorators';
import { type PulledEvents, type PullStart, toPayload } from '../events.service';

const ORDERS = ['asc', 'desc'] as const;

/** Query of `GET /v1/events`. */
export class PullEventsQuery {
  @ApiPropertyOptional({
    format: 'uuid',
    description: 'The `nextCursor` of the page before, or the id of an event (the `webhook-id`)',
  })
  @IsOptional()
  // The position of a page without events is made of a time, and of no version.
  @IsUUID('loose')
  after?: string;

  @ApiPropertyOptional({ format: 'date-time', type: String, description: 'Instead of `after`: recorded at or after' })
  @IsOptional()
  @Timestamp()
  from?: Date;

  @ApiPropertyOptional({
    enum: ORDERS,
    default: 'asc',
    description: 'Oldest first, to follow the events; or newest first, to look back',
  })
  @IsIn(ORDERS)
  order: (typeof ORDERS)[number] = 'asc';

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 100 })
  @QueryInteger(1, 100)
  limit: number = 100;
}

/** One event, with the same payload as in a webhook. */
export class EventDto {
  @ApiProperty({ example: 'email.delivered' }) type!: string;
  @ApiProperty({ format: 'date-time', description: 'When it happened' }) timestamp!: string;
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    description: 'As in a webhook: eventId, emailId, domainId, sequence, eventType, source and what the event says',
  })
  data!: Record<string, unknown>;
}

/** @throws ValidationError */
export function toStart({ after, from }: PullEventsQuery): PullStart {
  if (after !== undefined && from !== undefined) {
    throw new ValidationError({ from: ['from must not be given with after'] });
  }
  return after?.toLowerCase() ?? from;
}

/** Of the newest first: the event that the page before ended with. @throws ValidationError */
export function toEnd({ after, from }: PullEventsQuery): string | undefined {
  if (from !== undefined) throw new ValidationError({ from: ['from must not be given with order=desc'] });
  return after?.toLowerCase();
}

/** A page; `nextCursor` is always present, since polling goes on from it. */
export function toEventsDto({ events, next, hasMore }: PulledEvents, { limit }: PullEventsQuery) {
  return { data: events.map(toPayload), pagination: { limit, hasMore, nextCursor: next } };
}
