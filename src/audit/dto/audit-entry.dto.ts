import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsUUID, Matches } from 'class-validator';
import { QueryInteger, Timestamp } from '../../common/http/dto-decorators';

const ACTOR = /^[\w:-]{1,64}$/;
const NAME = /^[a-z][a-z_.]{0,63}$/;
/** Visible characters and spaces. */
const TARGET = /^[\x20-\x7e]{1,300}$/;

export class ListAuditEntriesQuery {
  @ApiPropertyOptional({
    description:
      'The id of an API key, `operator` (the command line), `operator:` and the id of an operator key, or `system`',
  })
  @IsOptional()
  @Matches(ACTOR)
  actor?: string;

  @ApiPropertyOptional({ example: 'api_key.revoked' }) @IsOptional() @Matches(NAME) action?: string;

  @ApiPropertyOptional({ example: 'api_key' }) @IsOptional() @Matches(NAME) targetType?: string;

  @ApiPropertyOptional() @IsOptional() @Matches(TARGET) targetId?: string;

  @ApiPropertyOptional({ format: 'date-time', type: String, description: 'At or after' })
  @IsOptional()
  @Timestamp()
  from?: Date;

  @ApiPropertyOptional({ format: 'date-time', type: String, description: 'Before' })
  @IsOptional()
  @Timestamp()
  to?: Date;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 50 }) @QueryInteger(1, 100) limit: number =
    50;

  @ApiPropertyOptional({ format: 'uuid', description: 'The `nextCursor` of the page before' })
  @IsOptional()
  @IsUUID()
  cursor?: string;
}

export class AuditEntryDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'date-time' }) timestamp!: string;
  @ApiProperty({
    description:
      'The id of an API key, `operator` (the command line), `operator:` and the id of an operator key, or `system`',
  })
  actor!: string;
  @ApiProperty({ example: 'api_key.revoked' }) action!: string;
  @ApiProperty({ example: 'api_key' }) targetType!: string;
  @ApiProperty() targetId!: string;
  @ApiProperty({ type: 'object', additionalProperties: true, description: 'More about it; no personal data' })
  data!: object;
}

export class AuditPaginationDto {
  @ApiProperty({ type: 'integer', example: 50 }) limit!: number;
  @ApiProperty() hasMore!: boolean;
  @ApiPropertyOptional({ format: 'uuid', description: 'For the next page' }) nextCursor?: string;
}
