import type { WorkTurns } from '../../../../common/async/fair-turns';
import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { IsOptional, IsString, Length, MaxLength } from 'class-validator';
import { QueryInteger } from '../../../../common/http/dto/dto-decorators';
import type { MessageFile } from '../../../../common/mime/message-view';
import { decodeAddressField } from '../../../../common/mime/address-field';
import { decodeField } from '../../../../common/mime/part-text';
import { MAIL_MARKS, type MailMark } from '../mail-marks';
import type { InboundEmail, ShownInboundEmail } from '../inbound-emails.service';

const MAX_ADDRESS = 320;

export class ListInboundEmailsQuery {
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 1_000_000, default: 1 })
  @QueryInteger(1, 1_000_000)
  page: number = 1;
  @ApiPropertyOptional({ type: 'integer', minimum: 1, maximum: 100, default: 20 }) @QueryInteger(1, 100) limit: number =
    20;
  @ApiPropertyOptional({ description: 'An address that it came to', example: 'support@in.example.com' })
  @IsOptional()
  @IsString()
  @MaxLength(MAX_ADDRESS)
  to?: string;
  @ApiPropertyOptional({ description: 'The address of its author, or of its envelope', example: 'ada@example.com' })
  @IsOptional()
  @IsString()
  @MaxLength(MAX_ADDRESS)
  from?: string;
  @ApiPropertyOptional({ description: 'The `nextCursor` of the page before; then `page` does not count' })
  @IsOptional()
  @IsString()
  @Length(1, 64)
  cursor?: string;
}

class InboundEnvelopeDto {
  @ApiProperty({ description: 'Empty for the null sender' }) from!: string;
  @ApiProperty({ type: [String], description: "The route's recipients" }) to!: string[];
}

class AuthenticationResultDto {
  @ApiProperty({ description: 'As RFC 8601 names them', example: 'pass' }) result!: string;
  @ApiPropertyOptional({ example: 'example.com' }) domain?: string;
  @ApiPropertyOptional() selector?: string;
  @ApiPropertyOptional({ description: 'Of DMARC: what the domain asks for', example: 'reject' }) policy?: string;
}

class InboundAuthenticationDto {
  @ApiProperty({ type: AuthenticationResultDto }) spf!: AuthenticationResultDto;
  @ApiProperty({ type: [AuthenticationResultDto], description: 'One for each signature' })
  dkim!: AuthenticationResultDto[];
  @ApiProperty({ type: AuthenticationResultDto }) dmarc!: AuthenticationResultDto;
  @ApiPropertyOptional({ type: AuthenticationResultDto }) arc?: AuthenticationResultDto;
}

class InboundHeaderDto {
  @ApiProperty({ example: 'Subject' }) name!: string;
  @ApiProperty() value!: string;
}

class InboundAttachmentDto {
  @ApiProperty({ type: 'integer' }) index!: number;
  @ApiProperty() filename!: string;
  @ApiProperty({ description: 'As the sender says' }) contentType!: string;
  @ApiProperty({ type: 'integer', description: 'Bytes' }) size!: number;
  @ApiPropertyOptional() contentId?: string;
}

export class InboundEmailListItemDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ format: 'uuid' }) routeId!: string;
  @ApiProperty({ type: InboundEnvelopeDto }) envelope!: InboundEnvelopeDto;
  @ApiProperty({ example: 'Ada <ada@example.com>' }) from!: string;
  @ApiProperty({ type: [String] }) to!: string[];
  @ApiProperty({ type: [String] }) cc!: string[];
  @ApiProperty() subject!: string;
  @ApiProperty({ type: String, nullable: true }) messageId!: string | null;
  @ApiPropertyOptional() inReplyTo?: string;
  @ApiProperty({ type: [String] }) references!: string[];
  @ApiProperty({ enum: MAIL_MARKS, isArray: true, description: 'Why it should get no automatic reply' })
  marks!: MailMark[];
  @ApiProperty({ type: InboundAuthenticationDto }) authentication!: InboundAuthenticationDto;
  @ApiProperty({ type: 'integer' }) sizeBytes!: number;
  @ApiProperty({ format: 'date-time' }) receivedAt!: string;
}

export class InboundEmailDto extends InboundEmailListItemDto {
  @ApiPropertyOptional() text?: string;
  @ApiPropertyOptional({ description: 'As received; show it in a sandbox only' }) html?: string;
  @ApiProperty({ type: [InboundHeaderDto], description: 'In their order' }) headers!: InboundHeaderDto[];
  @ApiProperty({ type: [InboundAttachmentDto] }) attachments!: InboundAttachmentDto[];
}

export class RemovedInboundEmailDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ enum: [true] }) deleted!: true;
}

export function toListItem(email: InboundEmail): InboundEmailListItemDto {
  const { id, routeId, envelopeFrom, envelopeTo, data, sizeBytes, receivedAt } = email;
  const { to, cc, references, marks, authentication, ...shown } = data;
  return {
    ...{ id, routeId, envelope: { from: envelopeFrom, to: envelopeTo } },
    ...{ ...shown, to: [...to], cc: [...cc], references: [...references], marks: [...marks] },
    authentication: { ...authentication, dkim: [...authentication.dkim] },
    ...{ sizeBytes, receivedAt: receivedAt.toISOString() },
  };
}

/** Header fields are decoded in turns of the event loop: a megabyte of encoded words takes seconds. */
export async function toInboundEmailDto(
  { email, message }: ShownInboundEmail,
  turns: WorkTurns,
): Promise<InboundEmailDto> {
  const { fields, text, html, files } = message;
  return {
    ...toListItem(email),
    ...(text !== undefined && { text }),
    ...(html !== undefined && { html }),
    headers: await turns.map(fields.list, ({ spelledName, value }) => ({
      name: spelledName,
      value: decodeHeader(spelledName, value),
    })),
    attachments: files.map(toAttachment),
  };
}

/** Fields of addresses (RFC 5322 section 3.6), whose decoded names must not read as addresses. */
const ADDRESS_FIELD =
  /^(?:resent-)?(?:from|sender|reply-to|to|cc|bcc)$|^(?:delivered-to|return-path|disposition-notification-to)$/i;

function decodeHeader(name: string, value: string): string {
  return ADDRESS_FIELD.test(name) ? decodeAddressField(value) : decodeField(value);
}

function toAttachment({ index, filename, contentType, size, contentId }: MessageFile): InboundAttachmentDto {
  return { index, filename, contentType, size, ...(contentId !== undefined && { contentId }) };
}
