import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, Length, MaxLength } from 'class-validator';
import { QueryBoolean, QueryInteger } from '../../../common/http/dto/dto-decorators';
import { fromCursor } from '../../../common/http/dto/pagination';
import type { VerificationStatus } from '../registry/domain.entity';
import type { DomainFilter } from '../registry/domains.repository';
import { VERIFICATION_STATUSES } from './domain.dto';

/** Query of `GET /v1/domains`. */
export class ListDomainsQuery {
  @ApiPropertyOptional({
    minLength: 1,
    maxLength: 255,
    description: 'A part of the name; of an international one whole labels, or a part of its A-labels',
  })
  @IsOptional()
  @IsString()
  @Length(1, 255)
  q?: string;

  @ApiPropertyOptional({ enum: VERIFICATION_STATUSES, description: 'The `verification_status`' })
  @IsOptional()
  @IsIn(VERIFICATION_STATUSES)
  status?: VerificationStatus;
  @ApiPropertyOptional({ description: 'Only slowed and paused ones' }) @QueryBoolean() restricted: boolean = false;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 1_000_000, default: 1 })
  @QueryInteger(1, 1_000_000)
  page: number = 1;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 100 })
  @QueryInteger(1, 100)
  limit: number = 100;

  @ApiPropertyOptional({
    maxLength: 100,
    description:
      'The `nextCursor` of the page before; no domain is left out while others are added and deleted. `page` is ignored',
  })
  @IsOptional()
  @IsString()
  @MaxLength(100)
  cursor?: string;
}

/** For one entry more than a page has, which shows whether there is a next one. @throws ValidationError for a foreign cursor */
export function toDomainFilter({ q, status, restricted, page, limit, cursor }: ListDomainsQuery): DomainFilter {
  const after = fromCursor(cursor);
  return { text: q, status, restricted, after, skip: after === undefined ? (page - 1) * limit : 0, take: limit + 1 };
}
