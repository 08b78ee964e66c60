import { ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, IsUUID, Length } from 'class-validator';
import { QueryInteger, Timestamp } from '../../../common/http/dto-decorators';
import { EMAIL_STATUSES, type EmailStatus } from '../outcomes/email-state';

export class ListEmailsQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, default: 1 }) @QueryInteger(1, 1_000_000) page: number = 1;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 20 }) @QueryInteger(1, 100) limit: number =
    20;

  @ApiPropertyOptional({ enum: EMAIL_STATUSES }) @IsOptional() @IsIn(EMAIL_STATUSES) status?: EmailStatus;

  @ApiPropertyOptional({ minLength: 1, maxLength: 100 }) @IsOptional() @IsString() @Length(1, 100) tag?: string;

  @ApiPropertyOptional({ format: 'idn-email', description: 'An address in to, cc or bcc' })
  @IsOptional()
  @IsString()
  @Length(3, 254)
  recipient?: string;

  @ApiPropertyOptional({ minLength: 1, maxLength: 200, description: 'A part of the subject, in any case' })
  @IsOptional()
  @IsString()
  @Length(1, 200)
  subject?: string;

  @ApiPropertyOptional({ format: 'uuid' }) @IsOptional() @IsUUID() domain_id?: string;

  @ApiPropertyOptional({ format: 'date-time', type: String, description: 'Created at or after' })
  @IsOptional()
  @Timestamp()
  from?: Date;

  @ApiPropertyOptional({ format: 'date-time', type: String, description: 'Created before' })
  @IsOptional()
  @Timestamp()
  to?: Date;

  @ApiPropertyOptional({ description: 'The `nextCursor` of the page before; then `page` does not count' })
  @IsOptional()
  @IsString()
  @Length(1, 64)
  cursor?: string;
}
