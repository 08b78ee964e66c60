import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';

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
    description: 'Who gets it, whatever its header says',
  })
  to!: string[];
  @ApiPropertyOptional({ enum: ['transactional', 'bulk'], description: 'Or the field X-Waybill-Category' })
  category?: string;
  @ApiPropertyOptional({ type: [String], maxItems: 10, description: 'Or the field X-Waybill-Tags, with commas' })
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

/** A request that works as it is on a fresh local installation. */
export const RAW_EXAMPLES = {
  message: {
    summary: 'A short message',
    value: { raw: Buffer.from(MESSAGE).toString('base64'), to: ['ada@example.com'], tags: ['welcome'] },
  },
};
