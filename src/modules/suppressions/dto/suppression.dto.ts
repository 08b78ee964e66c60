import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, MaxLength } from 'class-validator';
import { ERROR_CODES, type ErrorCode } from '../../../common/errors/app-error';
import { QueryInteger } from '../../../common/http/dto/dto-decorators';
import { SUPPRESSION_FORMS, type SuppressionForm } from '../suppression-forms';
import { OWN_REASONS, SUPPRESSION_REASONS, type SuppressionReason } from '../suppression';

const MAX_OFFSET = 10_000_000;
/** A bare address: `Name <address>`, which recipients may have, is refused here. */
const ADDRESS = { format: 'idn-email', maxLength: 254, example: 'ada@example.com' };

export class SuppressionNotesDto {
  @ApiPropertyOptional({ maxLength: 500, description: 'Shown in lists' })
  @IsOptional()
  @IsString()
  @MaxLength(500)
  notes?: string;
}

/** Body of `POST /v1/suppressions`, and an element of the batch. */
export class AddSuppressionDto extends SuppressionNotesDto {
  @ApiProperty(ADDRESS) @IsString() email!: string;
  @ApiProperty({ enum: OWN_REASONS }) @IsIn(OWN_REASONS) reason!: (typeof OWN_REASONS)[number];
}

/** Query of `GET /v1/suppressions`. */
export class ListSuppressionsQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 50 })
  @QueryInteger(1, 100)
  limit: number = 50;

  @ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: MAX_OFFSET, default: 0 })
  @QueryInteger(0, MAX_OFFSET)
  offset: number = 0;

  @ApiPropertyOptional({
    maxLength: 200,
    description:
      'The `nextCursor` of the page before; no entry is left out while others are added and deleted. `offset` is ignored',
  })
  @IsOptional()
  @IsString()
  @MaxLength(200)
  cursor?: string;

  @ApiPropertyOptional({ enum: SUPPRESSION_REASONS })
  @IsOptional()
  @IsIn(SUPPRESSION_REASONS)
  reason?: SuppressionReason;

  @ApiPropertyOptional({ ...ADDRESS, description: 'The entries of this address; case does not matter' })
  @IsOptional()
  @IsString()
  email?: string;
}

/** Query of `GET /v1/suppressions/check`. */
export class CheckSuppressionQuery {
  @ApiProperty(ADDRESS) @IsString() email!: string;
}

/** An entry of the list: an address has one for each reason. */
export class SuppressionDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty(ADDRESS) email!: string;
  @ApiProperty({ enum: SUPPRESSION_REASONS }) reason!: SuppressionReason;
  @ApiProperty({ enum: ['automatic', 'api'], description: '`api`: added by a client or an operator' }) source!:
    | 'automatic'
    | 'api';
  @ApiProperty({ format: 'date-time' }) suppressedAt!: string;
  @ApiPropertyOptional() notes?: string;
  @ApiPropertyOptional({ format: 'date-time', description: 'The entry has no effect from then on' }) expiresAt?: string;
}

/** Offset-based lists. */
export class OffsetPaginationDto {
  @ApiProperty({ type: 'integer', example: 42 }) total!: number;
  @ApiProperty({ type: 'integer', example: 50 }) limit!: number;
  @ApiProperty({ type: 'integer', example: 0 }) offset!: number;
  @ApiProperty({ description: 'Whether there are entries after these' }) hasMore!: boolean;
  @ApiPropertyOptional({ description: 'For the next page; left out on the last one' }) nextCursor?: string;
}

/** Response of `GET /v1/suppressions/check`. */
export class SuppressionCheckDto {
  @ApiProperty(ADDRESS) email!: string;
  @ApiProperty() suppressed!: boolean;
  @ApiPropertyOptional({ enum: SUPPRESSION_REASONS, description: 'The strongest of several' })
  reason?: SuppressionReason;
}

/** Response of `DELETE /v1/suppressions/{email}`. */
export class RemovedSuppressionDto {
  @ApiProperty(ADDRESS) email!: string;
  @ApiProperty() removed!: boolean;
}

class ImportedSuppressionDto {
  @ApiProperty({ type: 'integer', description: 'Position in the request, from 0' }) index!: number;
  @ApiPropertyOptional({ format: 'uuid' }) id?: string;
  @ApiPropertyOptional({ enum: Object.keys(ERROR_CODES), enumName: 'ErrorCode' }) code?: ErrorCode;
  @ApiPropertyOptional() error?: string;
  @ApiPropertyOptional({ type: 'object', additionalProperties: true }) details?: Record<string, unknown>;
  @ApiPropertyOptional() suggestion?: string;
}

class ImportSummaryDto {
  @ApiProperty({ type: 'integer' }) total!: number;
  @ApiProperty({ type: 'integer' }) successful!: number;
  @ApiProperty({ type: 'integer' }) failed!: number;
}

/** Response of `POST /v1/suppressions/batch`: an entry or an error for each element, in the order given. */
export class SuppressionBatchDto {
  @ApiProperty({ type: [ImportedSuppressionDto] }) data!: ImportedSuppressionDto[];
  @ApiProperty({ type: ImportSummaryDto }) summary!: ImportSummaryDto;
}

/** Body of `POST /v1/suppressions/import`. */
export class ImportSuppressionsDto {
  @ApiProperty({ enum: SUPPRESSION_FORMS, description: 'The service that exported the file' })
  @IsIn(SUPPRESSION_FORMS)
  from!: SuppressionForm;

  @ApiProperty({ description: 'The file: at most 10 MiB in UTF-8, and 200,000 entries', example: 'email,reason\n' })
  @IsString()
  csv!: string;
}

class RefusedLineDto {
  @ApiProperty({ type: 'integer', description: 'Line of the file, from 1' }) line!: number;
  @ApiPropertyOptional() email?: string;
  @ApiProperty() error!: string;
}

/** Response of `POST /v1/suppressions/import`; the counts are of lines with an entry. */
export class ImportedFileDto {
  @ApiProperty({ type: 'integer' }) total!: number;
  @ApiProperty({ type: 'integer' }) added!: number;
  @ApiProperty({ type: 'integer', description: 'On the list already, or earlier in the file' }) duplicates!: number;
  @ApiProperty({ type: 'integer' }) invalid!: number;
  @ApiProperty({ type: [RefusedLineDto], description: 'The first 100 invalid lines' })
  refused!: readonly RefusedLineDto[];
}
