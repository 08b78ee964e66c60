import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsBoolean, IsIn, IsInt, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import { Nullable, QueryInteger, Timestamp } from '../../../common/http/dto/dto-decorators';
import type { Destination } from '../../../delivery/shaping/destinations.service';

const STATES = ['open', 'slowed', 'paused', 'probing'] as const;
const MAX_CONNECTIONS = 10_000;
const MAX_RATE = 1_000_000;

/** Query of `GET /operator/v1/destinations`. */
export class ListDestinationsQuery {
  @ApiPropertyOptional({ maxLength: 255, description: 'A part of the key, of a host or of a domain of recipients' })
  @IsOptional()
  @IsString()
  @Length(1, 255)
  q?: string;

  @ApiPropertyOptional({ enum: STATES }) @IsOptional() @IsIn(STATES) state?: (typeof STATES)[number];

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 1_000_000, default: 1 })
  @QueryInteger(1, 1_000_000)
  page: number = 1;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 50 }) @QueryInteger(1, 100) limit: number =
    50;
}

/** Body of `PATCH /operator/v1/destinations/{key}`; absent properties stay as they are. */
export class ChangeDestinationDto {
  @ApiPropertyOptional({ description: 'false also ends a pause that the workers have set' })
  @IsOptional()
  @IsBoolean()
  paused?: boolean;

  @ApiPropertyOptional({
    type: 'integer',
    nullable: true,
    minimum: 1,
    description: 'Of all workers together; `null` removes the limit',
  })
  @Nullable()
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_CONNECTIONS)
  maxConnections?: number | null;

  @ApiPropertyOptional({
    type: 'integer',
    nullable: true,
    minimum: 1,
    description: 'Attempts of all workers together; `null` removes the limit',
  })
  @Nullable()
  @IsOptional()
  @IsInt()
  @Min(1)
  @Max(MAX_RATE)
  ratePerMinute?: number | null;

  @ApiPropertyOptional({ format: 'date-time', type: String, description: 'When these settings expire' })
  @IsOptional()
  @Timestamp()
  until?: Date;

  @ApiProperty({
    minLength: 1,
    maxLength: 500,
    description: 'Shown as `cause`, and to senders whose mail waits for it',
    example: 'Their maintenance',
  })
  @IsString()
  @Length(1, 500)
  reason!: string;
}

class DestinationRuleDto {
  @ApiProperty({ description: 'A profile’s begins with `profile:` and cannot be removed' }) id!: string;
  @ApiProperty({ enum: ['reply', 'operator', 'profile'] }) source!: string;
  @ApiProperty({ example: '5 max connections' }) effect!: string;
  @ApiProperty({ description: 'The reply, the reason of the operator, or where the figures come from' }) cause!: string;
  @ApiPropertyOptional({ format: 'date-time', description: 'Absent for those of a profile' }) since?: string;
  @ApiPropertyOptional({ format: 'date-time' }) until?: string;
}

class LastHourDto {
  @ApiProperty({ type: 'integer' }) delivered!: number;
  @ApiProperty({ type: 'integer' }) deferred!: number;
  @ApiProperty({ type: 'integer' }) bounced!: number;
}

/** A group of destinations: all domains with the same mail exchangers. */
export class DestinationDto {
  @ApiProperty({ description: 'The first mail exchanger by preference and name', example: 'mx1.example.net' })
  key!: string;
  @ApiProperty({ type: [String], example: ['mx1.example.net'] }) mxHosts!: string[];
  @ApiProperty({ type: [String], description: 'Domains of recipients, at most 20', example: ['example.com'] })
  domains!: string[];
  @ApiProperty({ enum: STATES }) state!: (typeof STATES)[number];
  @ApiProperty({ type: 'integer', description: 'Of all workers together', example: 20 }) maxConnections!: number;
  @ApiProperty({ type: 'integer', description: 'Conversations under way' }) active!: number;
  @ApiPropertyOptional({ type: 'integer' }) ratePerMinute?: number;
  @ApiPropertyOptional({ description: 'Why it is not open' }) cause?: string;
  @ApiPropertyOptional({ format: 'date-time' }) until?: string;
  @ApiPropertyOptional() lastResponse?: string;
  @ApiProperty({ type: [DestinationRuleDto] }) rules!: DestinationRuleDto[];
  @ApiProperty({ description: 'Attempts of the last hour' }) lastHour!: LastHourDto;
}

export function toDestinationDto({ until, rules, mxHosts, domains, ...destination }: Destination): DestinationDto {
  return {
    ...destination,
    mxHosts: [...mxHosts],
    domains: [...domains],
    ...(until && { until: until.toISOString() }),
    rules: rules.map(({ since, until: end, ...rule }) => ({
      ...rule,
      ...(since && { since: since.toISOString() }),
      ...(end && { until: end.toISOString() }),
    })),
  };
}
