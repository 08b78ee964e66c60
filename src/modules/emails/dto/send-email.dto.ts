import { ApiExtraModels, ApiProperty, ApiPropertyOptional, getSchemaPath } from '@nestjs/swagger';
import { ERROR_CODES, type ErrorCode, ValidationError } from '../../../common/errors/app-error';
import { SUPPRESSION_REASONS, type SuppressionReason } from '../../suppressions/suppressions.service';
import type { ItemResult } from '../accept/request/send-request';

/** Documentation of the request body; `accept/parse-send-request.ts` does the validation (a test compares the two). */
class MailboxDto {
  @ApiProperty({ example: 'ada@example.com' }) email!: string;
  @ApiPropertyOptional({ example: 'Ada Lovelace' }) name?: string;
}

const ADDRESS = {
  oneOf: [{ type: 'string', example: 'Ada Lovelace <ada@example.com>' }, { $ref: getSchemaPath(MailboxDto) }],
};
const addresses = (minItems: number, description: string) => ({
  type: 'array' as const,
  items: ADDRESS,
  minItems,
  maxItems: 50,
  description,
});

const TAG = { type: 'string', minLength: 1, maxLength: 100 };

class AttachmentDto {
  @ApiProperty({ maxLength: 255, example: 'invoice.pdf' }) filename!: string;
  @ApiProperty({ format: 'byte', description: 'Base64' }) content!: string;
  @ApiPropertyOptional({ description: "Default: derived from the name's extension", example: 'application/pdf' })
  contentType?: string;
  @ApiPropertyOptional({ description: 'Makes it an inline part, which the html refers to as `cid:…`' })
  contentId?: string;
}

class TemplateUseDto {
  @ApiPropertyOptional({ format: 'uuid', description: 'Either this or `name`' }) id?: string;
  @ApiPropertyOptional({ pattern: '^[a-z0-9-]{1,64}$', example: 'welcome' }) name?: string;
  @ApiPropertyOptional({ type: 'integer', minimum: 1, description: 'Absent: the latest' }) version?: number;
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description:
      'At most 256 KiB. A variable that the template uses and that is missing leads to 422 `template_render_failed`',
  })
  variables?: Record<string, unknown>;
}

class TrackingDto {
  @ApiPropertyOptional({ description: 'By a pixel in the html' }) opens?: boolean;
  @ApiPropertyOptional({
    description:
      'By links in the html that redirect through this service, except those with `data-waybill-track="off"`',
  })
  clicks?: boolean;
}

/** Body of `POST /v1/emails`, and an element of the batch. */
@ApiExtraModels(MailboxDto)
export class SendEmailDto {
  @ApiPropertyOptional({
    ...ADDRESS,
    description:
      'The sender; its domain must be verified. Absent: `noreply@` the default domain. A bare local part is completed with the default domain.',
  })
  from?: unknown;
  @ApiProperty(addresses(1, '`to`, `cc` and `bcc` together: at most 50; the same address twice counts once'))
  to!: unknown[];
  @ApiPropertyOptional(addresses(0, 'Copies')) cc?: unknown[];
  @ApiPropertyOptional(addresses(0, 'Blind copies, shown in no header')) bcc?: unknown[];
  @ApiPropertyOptional({ oneOf: [...ADDRESS.oneOf, { type: 'array', items: ADDRESS, maxItems: 10 }] })
  replyTo?: unknown;
  @ApiPropertyOptional({ minLength: 1, maxLength: 998, description: 'Required, unless a template is given' })
  subject?: string;
  @ApiPropertyOptional({ type: TemplateUseDto, description: 'In place of subject, html and text' })
  template?: TemplateUseDto;
  @ApiPropertyOptional({ description: 'At most 5 MiB; html, text or a template must be given' }) html?: string;
  @ApiPropertyOptional({ description: 'At most 1 MiB; derived from html when absent' }) text?: string;
  @ApiPropertyOptional({ type: 'object', additionalProperties: { type: 'string' }, description: 'At most 50' })
  headers?: Record<string, string>;
  @ApiPropertyOptional({ type: [AttachmentDto], maxItems: 10, description: 'At most 25 MiB decoded together' })
  attachments?: AttachmentDto[];
  @ApiPropertyOptional({ type: 'array', items: TAG, maxItems: 10 }) tags?: string[];
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description: 'At most 8 KiB, 5 levels; never sent',
  })
  metadata?: Record<string, unknown>;
  @ApiPropertyOptional({ format: 'date-time', description: '1 minute to 30 days ahead' }) scheduledAt?: string;
  @ApiPropertyOptional({ format: 'date-time', description: 'No attempt begins after it' }) expiresAt?: string;
  @ApiPropertyOptional({ type: TrackingDto, description: "Default: the organization's setting, off at first" })
  tracking?: TrackingDto;
  @ApiPropertyOptional({ enum: ['transactional', 'bulk'], default: 'transactional' }) category?: string;
  @ApiPropertyOptional({ minLength: 1, maxLength: 255, description: 'Same as the header X-Idempotency-Key' })
  idempotencyKey?: string;
}

class SuppressedRecipientDto {
  @ApiProperty() email!: string;
  @ApiProperty({ enum: SUPPRESSION_REASONS }) reason!: SuppressionReason;
}

/** An accepted email: committed to durable storage. */
export class AcceptedEmailDto {
  @ApiProperty({ format: 'uuid' }) id!: string;
  @ApiProperty({ enum: ['queued', 'scheduled'] }) status!: 'queued' | 'scheduled';
  @ApiPropertyOptional({ format: 'date-time' }) scheduledAt?: string;
  @ApiPropertyOptional({ type: [String] }) warnings?: string[];
  @ApiPropertyOptional({ type: [SuppressedRecipientDto] }) suppressedRecipients?: SuppressedRecipientDto[];
}

class BatchItemDto {
  @ApiProperty({ type: 'integer', description: 'Position in the request, from 0' }) index!: number;
  @ApiPropertyOptional({ format: 'uuid' }) id?: string;
  @ApiProperty({ enum: ['queued', 'scheduled', 'error'] }) status!: string;
  @ApiPropertyOptional({ format: 'date-time' }) scheduledAt?: string;
  @ApiPropertyOptional({ type: [String] }) warnings?: string[];
  @ApiPropertyOptional({ type: [SuppressedRecipientDto] }) suppressedRecipients?: SuppressedRecipientDto[];
  @ApiPropertyOptional({ enum: Object.keys(ERROR_CODES), enumName: 'ErrorCode' }) code?: ErrorCode;
  @ApiPropertyOptional() error?: string;
  @ApiPropertyOptional({ type: 'object', additionalProperties: true }) details?: Record<string, unknown>;
  @ApiPropertyOptional() suggestion?: string;
}

class BatchSummaryDto {
  @ApiProperty({ type: 'integer' }) total!: number;
  @ApiProperty({ type: 'integer' }) successful!: number;
  @ApiProperty({ type: 'integer' }) failed!: number;
}

/** Response of `POST /v1/emails/batch`: a result for each element, in the order of the request. */
export class BatchResultDto {
  @ApiProperty({ type: [BatchItemDto] }) data!: BatchItemDto[];
  @ApiProperty({ type: BatchSummaryDto }) summary!: BatchSummaryDto;
}

const WELCOME = {
  from: 'Waybill <hello@waybill.test>',
  to: ['Ada Lovelace <ada@example.com>'],
  subject: 'Welcome aboard',
  html: '<p>Hello Ada, <a href="https://example.com/start">start here</a>.</p>',
};

/** Example requests for the documentation; they work unchanged on a new local installation. */
export const SEND_EXAMPLES = {
  html: { summary: 'HTML; the text part is derived', value: WELCOME },
  attachment: {
    summary: 'With an attachment, tags and metadata',
    value: {
      ...WELCOME,
      subject: 'Your invoice',
      text: 'Your invoice is attached.',
      attachments: [{ filename: 'invoice.txt', content: 'VG90YWw6IDQyIEVVUg==', contentType: 'text/plain' }],
      tags: ['invoice'],
      metadata: { customerId: 'c-1815' },
    },
  },
};

export const BATCH_EXAMPLES = {
  two: {
    summary: 'Two emails',
    value: [WELCOME, { ...WELCOME, to: [{ email: 'grace@example.com', name: 'Grace Hopper' }] }],
  },
};

/** Documentation of the request body; `accept/raw/send-raw.service.ts` does the validation (a test compares the two). */
export class SendRawDto {
  @ApiProperty({
    format: 'byte',
    description:
      'The message in base64, at most 25 MiB. It has exactly one From with one address, whose domain must be verified. Line ends are CRLF; if all are LF they are converted. A mix is refused',
  })
  raw!: string;
  @ApiProperty({
    type: [String],
    minItems: 1,
    maxItems: 50,
    example: ['ada@example.com'],
    description: 'The recipients, whatever its header says',
  })
  to!: string[];
  @ApiPropertyOptional({ enum: ['transactional', 'bulk'], description: 'Or the field X-Waybill-Category' })
  category?: string;
  @ApiPropertyOptional({
    type: 'array',
    items: TAG,
    maxItems: 10,
    description: 'Or the field X-Waybill-Tags, with commas',
  })
  tags?: string[];
  @ApiPropertyOptional({
    type: 'object',
    additionalProperties: true,
    description: 'At most 8 KiB, 5 levels; never sent. Or the field X-Waybill-Metadata, as JSON',
  })
  metadata?: Record<string, unknown>;
  @ApiPropertyOptional({
    format: 'date-time',
    description: '1 minute to 30 days ahead. Or the field X-Waybill-Schedule',
  })
  scheduledAt?: string;
  @ApiPropertyOptional({
    minLength: 1,
    maxLength: 255,
    description: 'Same as the header X-Idempotency-Key. Or the field X-Waybill-Idempotency-Key',
  })
  idempotencyKey?: string;
}

const MESSAGE = [
  ...['From: Waybill <hello@waybill.test>', 'To: Ada Lovelace <ada@example.com>', 'Subject: Welcome aboard'],
  ...['', 'Hello Ada.', ''],
].join('\r\n');

/** An example request that works unchanged on a new local installation. */
export const RAW_EXAMPLES = {
  message: {
    summary: 'A short message',
    value: { raw: Buffer.from(MESSAGE).toString('base64'), to: ['ada@example.com'], tags: ['welcome'] },
  },
};

export const MAX_BATCH = 100;

/** Warnings name no person: suppressed recipients are counted, and listed in a field of their own. */
export function toAcceptedDto(accepted: Extract<ItemResult, { kind: 'accepted' }>): AcceptedEmailDto {
  const { id, status, scheduledAt, suppressed } = accepted;
  const leftOut = `Left out because they are on the suppression list: ${suppressed.length} of the recipients`;
  const warnings = [...(suppressed.length > 0 ? [leftOut] : []), ...(accepted.warnings ?? [])];
  return {
    id,
    status,
    ...(scheduledAt && { scheduledAt }),
    ...(warnings.length > 0 && { warnings }),
    ...(suppressed.length > 0 && { suppressedRecipients: [...suppressed] }),
  };
}

/** @param results one for each element of the request, in its order */
export function toBatchDto(results: readonly ItemResult[]): BatchResultDto {
  const failed = results.filter((result) => result.kind === 'refused').length;
  const data = results.map((result, index) => {
    if (result.kind === 'accepted') return { index, ...toAcceptedDto(result) };
    const { code, message, details, suggestion } = result;
    return {
      index,
      status: 'error',
      code,
      error: message,
      ...(details && { details }),
      ...(suggestion && { suggestion }),
    };
  });
  return { data, summary: { total: results.length, successful: results.length - failed, failed } };
}

/** @throws ValidationError unless the body is an array of 1 to 100 elements */
export function requireBatch(body: unknown): readonly unknown[] {
  if (Array.isArray(body) && body.length >= 1 && body.length <= MAX_BATCH) return body;
  throw new ValidationError({ body: [`body must be an array of 1 to ${MAX_BATCH} emails`] });
}
