import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

/** Lists that are walked from one page to the next. */
export class CursorPaginationDto {
  @ApiProperty({ type: 'integer', example: 50 }) limit!: number;
  @ApiProperty() hasMore!: boolean;
  @ApiPropertyOptional({ format: 'uuid', description: 'For the next page' }) nextCursor?: string;
}
