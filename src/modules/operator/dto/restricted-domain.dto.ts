import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, Matches } from 'class-validator';
import { ValidationError } from '../../../common/errors/app-error';
import { QueryInteger } from '../../../common/http/dto/dto-decorators';
import { isUuid } from '../../../common/ids';
import type { RestrictedDomain } from '../../domains/restrictions/restrictions.service';

const STATUSES = ['slowed', 'paused'] as const;
const REASONS = ['bounces', 'complaints', 'operator'] as const;
/** Two ids, encoded. */
const CURSOR = /^[\w-]{1,120}$/;

/** Query of `GET /operator/v1/restricted-domains`. */
export class ListRestrictedDomainsQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 50 }) @QueryInteger(1, 100) limit: number =
    50;

  @ApiPropertyOptional({ description: 'The `nextCursor` of the page before' })
  @IsOptional()
  @Matches(CURSOR, { message: 'cursor must be the nextCursor of a page' })
  cursor?: string;
}

/** A domain that may not send, or less than usual. */
export class RestrictedDomainDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'uuid' }) organizationId!: string;
  @ApiProperty({ example: 'mail.example.com' }) domain!: string;
  @ApiProperty({ enum: STATUSES, description: '`paused`: its mail is refused and waits' })
  status!: (typeof STATUSES)[number];
  @ApiPropertyOptional({ enum: REASONS }) reason?: (typeof REASONS)[number];
  @ApiPropertyOptional({ description: "The operator's own words, where the operator has paused it" }) note?: string;
  @ApiPropertyOptional({ format: 'date-time' }) since?: string;
  @ApiPropertyOptional({ type: 'integer', description: 'Recipients a day that a slowed domain may send to' })
  dailyLimit?: number;
}

export function toRestrictedDomainDto({ id, organizationId, domain, sending }: RestrictedDomain): RestrictedDomainDto {
  const { reason, note, since, dailyLimit } = sending;
  return {
    ...{ id, organizationId, domain, status: sending.status === 'paused' ? 'paused' : 'slowed' },
    ...(reason !== null && { reason }),
    ...(note !== null && { note }),
    ...(since !== null && { since: since.toISOString() }),
    ...(dailyLimit !== null && sending.status === 'slowed' && { dailyLimit }),
  };
}

/** @throws ValidationError */
export function toRestrictedCursor(
  text: string | undefined,
): Pick<RestrictedDomain, 'organizationId' | 'id'> | undefined {
  if (text === undefined) return undefined;
  const [organizationId = '', id = ''] = Buffer.from(text, 'base64url').toString('latin1').split(' ');
  if (!isUuid(organizationId) || !isUuid(id)) {
    throw new ValidationError({ cursor: ['cursor must be the nextCursor of an earlier page'] });
  }
  return { organizationId, id };
}

/** The opaque cursor that `toRestrictedCursor` reads. */
export const restrictedCursorOf = ({ organizationId, id }: RestrictedDomain): string =>
  Buffer.from(`${organizationId} ${id}`, 'latin1').toString('base64url');
