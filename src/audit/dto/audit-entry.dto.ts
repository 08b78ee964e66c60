import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, Matches } from 'class-validator';
import { Timestamp } from '../../common/http/dto/dto-decorators';
import { CursorQuery } from '../../common/http/dto/envelope.dto';
import { assertSpan } from '../../common/http/dto/timestamps';
import type { AuditEntry, AuditFilter } from '../audit.service';

const ACTOR = /^[\w:-]{1,64}$/;
const NAME = /^[a-z][a-z_.]{0,63}$/;
/** An id of a target: visible characters and spaces. */
export const AUDIT_TARGET = /^[\x20-\x7e]{1,300}$/;

const NAME_RULE = { message: '$property must be a name such as api_key or api_key.revoked, of at most 64 characters' };
export const TARGET_RULE = { message: '$property must have 1 to 300 characters, all of them ASCII' };

/** Query of `GET /v1/audit-log`. */
export class ListAuditEntriesQuery extends CursorQuery {
  @ApiPropertyOptional({
    description:
      'The id of an API key, `operator` (the command line), `operator:` and the id of an operator key, or `system`',
  })
  @IsOptional()
  @Matches(ACTOR, { message: 'actor must be the id of a key, operator, operator:<id> or system' })
  actor?: string;

  @ApiPropertyOptional({ example: 'api_key.revoked' }) @IsOptional() @Matches(NAME, NAME_RULE) action?: string;

  @ApiPropertyOptional({ example: 'api_key' }) @IsOptional() @Matches(NAME, NAME_RULE) targetType?: string;

  @ApiPropertyOptional() @IsOptional() @Matches(AUDIT_TARGET, TARGET_RULE) targetId?: string;

  @ApiPropertyOptional({ format: 'date-time', type: String, description: 'At or after' })
  @IsOptional()
  @Timestamp()
  from?: Date;

  @ApiPropertyOptional({ format: 'date-time', type: String, description: 'Before' })
  @IsOptional()
  @Timestamp()
  to?: Date;
}

/** An entry of the audit log as its organization sees it. */
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

/** The query without `limit`, `after` and absent properties. @throws ValidationError when the time has no span */
export function toAuditFilter({ actor, action, targetType, targetId, from, to }: ListAuditEntriesQuery): AuditFilter {
  assertSpan({ from, to });
  const filter = { actor, action, targetType, targetId, from, to };
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
}

export function toAuditEntryDto(entry: AuditEntry): AuditEntryDto {
  const { id, occurredAt, actor, action, targetType, targetId, data } = entry;
  return { id, timestamp: occurredAt.toISOString(), actor, action, targetType, targetId, data };
}

export function toAuditEntriesDto(entries: readonly AuditEntry[], limit: number, hasMore: boolean) {
  const last = entries.at(-1);
  return {
    data: entries.map(toAuditEntryDto),
    pagination: { limit, hasMore, ...(hasMore && last && { nextCursor: last.id }) },
  };
}
