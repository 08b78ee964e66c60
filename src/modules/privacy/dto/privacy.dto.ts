import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Equals, IsIn, IsOptional, IsString, MaxLength } from 'class-validator';
import { QueryInteger } from '../../../common/http/dto/dto-decorators';
import type { ExportFormat, PrivacyRequestType } from '../requests/privacy-requests.service';

const FORMATS = ['json', 'csv'] as const satisfies ExportFormat[];
const SECTIONS = ['emails', 'events', 'suppressions'] as const;
const TYPES = ['article_15_access', 'article_17_erasure'] as const satisfies PrivacyRequestType[];
const STATUSES = ['pending', 'processing', 'completed', 'failed'] as const;
/** `pending` is shown as `processing`: whether a worker has started does not matter to clients. */
const SHOWN_STATUSES = ['processing', 'completed', 'failed'] as const;
export const DATA_CATEGORIES = [
  ...(['email_addresses', 'email_content', 'delivery_events', 'suppression_records'] as const),
] as const;
const MAX_OFFSET = 10_000_000;
/** A bare address: `Name <address>`, which recipients may have, is refused here. */
const ADDRESS = { format: 'idn-email', maxLength: 254, example: 'ada@example.com' };
const SHOWN_ADDRESS = { example: 'ada@example.com', description: 'Masked once the subject has been erased' };
const COUNT = { type: 'integer', minimum: 0 } as const;

/** Body of `POST /v1/gdpr/export`. */
export class RequestExportDto {
  @ApiProperty({ ...ADDRESS, description: 'The data subject' }) @IsString() email!: string;
  @ApiPropertyOptional({ enum: FORMATS, default: 'json' }) @IsIn(FORMATS) format: ExportFormat = 'json';
}

/** Body of `POST /v1/gdpr/delete-request`. */
export class RequestErasureDto {
  @ApiProperty({ ...ADDRESS, description: 'The data subject' }) @IsString() email!: string;
  @ApiProperty({ enum: [true], description: 'An erasure cannot be undone' }) @Equals(true) confirmDelete!: true;
  @ApiPropertyOptional({ maxLength: 500 }) @IsOptional() @IsString() @MaxLength(500) reason?: string;
}

/** Query of `GET /v1/gdpr/export/{requestId}`. */
export class ReadExportQuery {
  @ApiPropertyOptional({
    enum: SECTIONS,
    default: 'emails',
    description: 'The section to download with `Accept: text/csv`',
  })
  @IsIn(SECTIONS)
  section: (typeof SECTIONS)[number] = 'emails';
}

/** Query of `GET /v1/gdpr/status`. */
export class ListPrivacyRequestsQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 50 })
  @QueryInteger(1, 100)
  limit: number = 50;

  @ApiPropertyOptional({ type: 'integer', minimum: 0, maximum: MAX_OFFSET, default: 0 })
  @QueryInteger(0, MAX_OFFSET)
  offset: number = 0;

  @ApiPropertyOptional({
    maxLength: 100,
    description:
      'The `nextCursor` of the page before; no request is left out while others are made. `offset` is ignored',
  })
  @IsOptional()
  @IsString()
  @MaxLength(100)
  cursor?: string;
}

class ExportCountsDto {
  @ApiProperty(COUNT) emails!: number;
  @ApiProperty(COUNT) events!: number;
  @ApiProperty(COUNT) suppressions!: number;
}

/** An export; the result itself is added while the response is written (`renderResponse`). */
export class PrivacyExportDto {
  @ApiProperty({ format: 'uuid' }) requestId!: string;
  @ApiProperty({ enum: SHOWN_STATUSES }) status!: (typeof SHOWN_STATUSES)[number];
  @ApiProperty(SHOWN_ADDRESS) email!: string;
  @ApiProperty({ enum: FORMATS }) format!: ExportFormat;
  @ApiProperty({ ...COUNT, example: 1, description: '0 once it has ended; usually it takes seconds' })
  estimatedCompletionDays!: number;
  @ApiProperty({ type: 'array', items: { type: 'string', enum: [...DATA_CATEGORIES] } })
  dataCategories!: readonly string[];
  @ApiProperty({ format: 'date-time' }) createdAt!: string;
  @ApiPropertyOptional({ format: 'date-time' }) completedAt?: string;
  @ApiPropertyOptional({ format: 'date-time', description: 'The result is deleted then' }) expiresAt?: string;
  @ApiPropertyOptional({ type: ExportCountsDto, description: 'What the result holds, as long as it is kept' })
  itemCounts?: ExportCountsDto;
  @ApiPropertyOptional({ ...COUNT, description: 'Size of the result as JSON' }) sizeBytes?: number;
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description:
      'The result, once completed: `emails`, `events` and `suppressions`, arrays or (format `csv`) CSV files. ' +
      'Left out above 64 MiB: ask with `Accept: application/zip`.',
  })
  exportedData?: Record<string, unknown>;
}

class ErasureReceiptDto {
  @ApiProperty(COUNT) emailsAnonymized!: number;
  @ApiProperty(COUNT) eventsAnonymized!: number;
  @ApiProperty(COUNT) recipientsAnonymized!: number;
  @ApiProperty(COUNT) contentsDeleted!: number;
  @ApiProperty(COUNT) deliveriesCancelled!: number;
  @ApiProperty(COUNT) suppressionsRemoved!: number;
  @ApiProperty(COUNT) suppressionsHashed!: number;
  @ApiProperty(COUNT) mailboxCopiesDeleted!: number;
  @ApiProperty(COUNT) reportsDeleted!: number;
  @ApiProperty(COUNT) inboundEmailsDeleted!: number;
  @ApiProperty(COUNT) exportsDeleted!: number;
}

class RetentionExceptionDto {
  @ApiProperty({ enum: ['suppression'] }) category!: string;
  @ApiProperty({ example: 'hard_bounce' }) reason!: string;
  @ApiProperty({ description: 'Why keeping it is lawful' }) basis!: string;
}

/** An erasure with its receipt, once completed, and what had to be kept. */
export class PrivacyErasureDto {
  @ApiProperty({ format: 'uuid' }) requestId!: string;
  @ApiProperty({ enum: SHOWN_STATUSES }) status!: (typeof SHOWN_STATUSES)[number];
  @ApiProperty(SHOWN_ADDRESS) email!: string;
  @ApiProperty({ format: 'date-time' }) createdAt!: string;
  @ApiPropertyOptional({ format: 'date-time' }) completedAt?: string;
  @ApiPropertyOptional({ type: ErasureReceiptDto, description: 'How much was erased, by kind' })
  receipt?: ErasureReceiptDto;
  @ApiProperty({
    type: [RetentionExceptionDto],
    description: 'What has to be kept, as far as it is known; [] for nothing',
  })
  retentionExceptions!: readonly RetentionExceptionDto[];
}

class PrivacyHistoryEntryDto {
  @ApiProperty({ format: 'uuid' }) requestId!: string;
  @ApiProperty({ enum: TYPES }) type!: PrivacyRequestType;
  @ApiProperty(SHOWN_ADDRESS) email!: string;
  @ApiProperty({ enum: STATUSES }) status!: (typeof STATUSES)[number];
  @ApiProperty({ format: 'date-time' }) requestedAt!: string;
  @ApiPropertyOptional({ format: 'date-time' }) completedAt?: string;
}

/** Response of `GET /v1/gdpr/status`. */
export class PrivacyHistoryDto {
  @ApiProperty({ type: [PrivacyHistoryEntryDto] }) requests!: PrivacyHistoryEntryDto[];
  @ApiProperty({ ...COUNT, description: 'Over all pages' }) total!: number;
  @ApiPropertyOptional({ description: 'For the next page; left out on the last one' }) nextCursor?: string;
}
