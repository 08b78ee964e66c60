import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsString, IsUUID, MaxLength } from 'class-validator';
import { ERROR_CODES, type ErrorCode } from '../../errors/app-error';
import { QueryInteger } from './dto-decorators';
import type { NamedSlice } from '../../ids';
import { fromNameCursor } from './pagination';

class ErrorBodyDto {
  @ApiProperty({ enum: Object.keys(ERROR_CODES), enumName: 'ErrorCode', example: 'resource_not_found' })
  code!: ErrorCode;
  @ApiProperty({ description: 'For people; it may change', example: 'Email not found' }) message!: string;
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description: 'For a failed validation, `validation` maps a field path to messages.',
  })
  details?: Record<string, unknown>;
  @ApiPropertyOptional({ description: 'What can be done about it' }) suggestion?: string;
}

/** The body of every error. */
export class ErrorEnvelopeDto {
  @ApiProperty({ type: ErrorBodyDto }) error!: ErrorBodyDto;
}

/** Page-based lists. */
export class PaginationDto {
  @ApiProperty({ type: 'integer', minimum: 1, example: 1 }) page!: number;
  @ApiProperty({ type: 'integer', example: 20 }) limit!: number;
  @ApiProperty({ type: 'integer', example: 42 }) total!: number;
  @ApiProperty({ type: 'integer', description: '0 for an empty list', example: 3 }) totalPages!: number;
  @ApiPropertyOptional({ description: 'Pass as `cursor` for the next page of a deep walk' }) nextCursor?: string;
  @ApiPropertyOptional({
    description:
      'True when only the newest 50,000 emails of the range were searched: `total` counts among those, `nextCursor` goes on',
  })
  partial?: boolean;
}

/** Query of a list by name, with pages and a cursor. */
export class NamedPagesQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 1_000_000, default: 1 })
  @QueryInteger(1, 1_000_000)
  page: number = 1;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 20 }) @QueryInteger(1, 100) limit: number =
    20;

  @ApiPropertyOptional({
    maxLength: 500,
    description:
      'The `nextCursor` of the page before; no entry is left out while others are added and deleted. `page` is ignored',
  })
  @IsOptional()
  @IsString()
  @MaxLength(500)
  cursor?: string;
}

/** For one entry more than a page has, which shows whether there is a next one. @throws ValidationError for a foreign cursor */
export function toNamedSlice({ page, limit, cursor }: NamedPagesQuery): NamedSlice {
  const after = fromNameCursor(cursor);
  return { after, skip: after === undefined ? (page - 1) * limit : 0, take: limit + 1 };
}

/** Query of a list with a cursor: the id of the last entry. */
export class CursorQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 50 }) @QueryInteger(1, 100) limit: number =
    50;

  @ApiPropertyOptional({ format: 'uuid', description: 'The `nextCursor` of the page before' })
  @IsOptional()
  @IsUUID()
  cursor?: string;
}

/** Lists that are walked from one page to the next. */
export class CursorPaginationDto {
  @ApiProperty({ type: 'integer', example: 50 }) limit!: number;
  @ApiProperty() hasMore!: boolean;
  @ApiPropertyOptional({ format: 'uuid', description: 'For the next page' }) nextCursor?: string;
}
