import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, IsUUID, Length } from 'class-validator';
import { EVENT_TYPES } from '../../../common/event-types';
import { QueryInteger, Timestamp } from '../../../common/http/dto/dto-decorators';
import { WAITING_REASONS } from '../../../delivery/queue/waiting';
import { EMAIL_STATUSES, type EmailStatus } from '../outcomes/email-state';

const SOURCES = ['api', 'smtp_submission', 'worker', 'smtp', 'dsn', 'feedback_loop', 'tracking', 'simulator', 'system'];

/** An event of an email's history. */
export class EmailEventDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ enum: EVENT_TYPES }) eventType!: string;
  @ApiProperty({ enum: SOURCES }) source!: string;
  @ApiProperty({ format: 'date-time' }) timestamp!: string;
  @ApiProperty({ type: 'object', additionalProperties: true }) eventData!: Record<string, unknown>;
}

/** Fields that the list and the detail form have in common. */
class EmailBaseDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'uuid' }) organizationId!: string;
  @ApiProperty({ enum: EMAIL_STATUSES }) status!: EmailStatus;
  @ApiProperty() fromEmail!: string;
  @ApiPropertyOptional() fromName?: string;
  @ApiProperty({ type: [String] }) toEmails!: string[];
  @ApiPropertyOptional({ type: [String] }) ccEmails?: string[];
  @ApiPropertyOptional({ type: [String] }) bccEmails?: string[];
  @ApiProperty() subject!: string;
  @ApiProperty({ format: 'date-time' }) createdAt!: string;
  @ApiPropertyOptional({ format: 'date-time' }) sentAt?: string;
  @ApiPropertyOptional({ format: 'date-time' }) deliveredAt?: string;
  @ApiPropertyOptional({ format: 'date-time' }) bouncedAt?: string;
  @ApiPropertyOptional({ format: 'date-time' }) failedAt?: string;
  @ApiPropertyOptional({ format: 'date-time' }) scheduledFor?: string;
  @ApiPropertyOptional() replyTo?: string;
  @ApiProperty({ type: [String] }) tags!: string[];
  @ApiPropertyOptional({ type: 'object', additionalProperties: true }) metadata?: Record<string, unknown>;
}

/** An email in `GET /v1/emails`, with its bodies when they are short. */
export class EmailListItemDto extends EmailBaseDto {
  @ApiProperty({ format: 'uuid' }) domainId!: string;
  @ApiPropertyOptional({ description: 'Left out when longer than 64 KiB' }) htmlBody?: string;
  @ApiPropertyOptional({ description: 'Left out when longer than 64 KiB' }) textBody?: string;
  @ApiProperty({ format: 'date-time' }) queuedAt!: string;
  @ApiProperty({ format: 'date-time' }) updatedAt!: string;
  @ApiProperty({ type: 'integer' }) openCount!: number;
  @ApiProperty({ type: 'integer' }) clickCount!: number;
}

/** Why an open delivery is not sent yet. */
export class RecipientWaitingDto {
  @ApiProperty({ enum: WAITING_REASONS }) reason!: string;
  @ApiPropertyOptional({ format: 'date-time' }) until?: string;
  @ApiProperty({ description: 'The reason as a sentence' }) detail!: string;
}

class EmailRecipientDto {
  @ApiProperty() email!: string;
  @ApiProperty({ enum: ['to', 'cc', 'bcc'] }) kind!: string;
  @ApiProperty({ enum: EMAIL_STATUSES }) status!: EmailStatus;
  @ApiPropertyOptional() lastResponse?: string;
  @ApiProperty({ type: 'integer' }) attempts!: number;
  @ApiPropertyOptional({ format: 'date-time' }) nextAttemptAt?: string;
  @ApiPropertyOptional({ type: RecipientWaitingDto, description: 'What it waits for, while it is open' })
  waiting?: RecipientWaitingDto;
  @ApiPropertyOptional({ format: 'date-time', description: 'When it is given up at the latest, while it is open' })
  endsAt?: string;
}

/** Response of `GET /v1/emails/{id}`. */
export class EmailDetailDto extends EmailBaseDto {
  @ApiPropertyOptional({ format: 'uuid', description: 'The email that this one was resent from' }) resentFrom?: string;
  @ApiPropertyOptional({
    type: [String],
    description: 'Emails that were resent from this one, the newest first; at most 100',
  })
  resentAs?: string[];
  @ApiProperty({ type: [EmailEventDto] }) events!: EmailEventDto[];
  @ApiProperty({ type: [EmailRecipientDto] }) recipients!: EmailRecipientDto[];
}

class AttachmentInfoDto {
  @ApiProperty() filename!: string;
  @ApiProperty() contentType!: string;
  @ApiProperty({ type: 'integer', description: 'Bytes' }) size!: number;
}

/** Response of `GET /v1/emails/{id}/content`. */
export class EmailContentDto {
  @ApiPropertyOptional() html?: string;
  @ApiPropertyOptional() text?: string;
  @ApiProperty({ type: 'object', additionalProperties: { type: 'string' } }) headers!: Record<string, string>;
  @ApiProperty({ type: [AttachmentInfoDto] }) attachments!: AttachmentInfoDto[];
}

/** Body of `PATCH /v1/emails/{id}`. */
export class RescheduleEmailDto {
  @ApiProperty({ format: 'date-time', type: String, description: '1 minute to 30 days ahead' })
  @Timestamp()
  scheduledAt!: Date;
}

/** Response of `PATCH /v1/emails/{id}`. */
export class RescheduledEmailDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ enum: ['scheduled'] }) status!: 'scheduled';
  @ApiProperty({ format: 'date-time' }) scheduledAt!: string;
}

/** Response of `POST /v1/emails/{id}/cancel`. */
export class CancelledEmailDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ enum: ['failed'] }) status!: 'failed';
}

/** Query of `GET /v1/emails`. */
export class ListEmailsQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 1_000_000, default: 1 })
  @QueryInteger(1, 1_000_000)
  page: number = 1;

  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 20 }) @QueryInteger(1, 100) limit: number =
    20;

  @ApiPropertyOptional({ enum: EMAIL_STATUSES }) @IsOptional() @IsIn(EMAIL_STATUSES) status?: EmailStatus;

  @ApiPropertyOptional({ minLength: 1, maxLength: 100 }) @IsOptional() @IsString() @Length(1, 100) tag?: string;

  @ApiPropertyOptional({ format: 'idn-email', description: 'An address in to, cc or bcc' })
  @IsOptional()
  @IsString()
  @Length(3, 254)
  recipient?: string;

  @ApiPropertyOptional({ minLength: 1, maxLength: 200, description: 'A part of the subject, ignoring case' })
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

  @ApiPropertyOptional({ description: 'The `nextCursor` of the page before; `page` is then ignored' })
  @IsOptional()
  @IsString()
  @Length(1, 64)
  cursor?: string;
}
