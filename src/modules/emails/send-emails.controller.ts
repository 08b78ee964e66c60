import { Body, Controller, HttpCode, Post, Res } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiTags, getSchemaPath } from '@nestjs/swagger';
import type { Response } from 'express';
import { ApiData, ApiErrors, PathId } from '../../common/http/dto/openapi.decorators';
import { HasOwnTurns, RateLimitClass } from '../../common/http/request/request-limits';
import { BATCH_BODY, SEND_BODY, TakesBody } from '../../common/http/request/request-body';
import { RequireScope } from '../../common/http/scopes';
import { SendRawService } from './accept/send-raw.service';
import { EmailChangesService } from './email-changes.service';
import { AcceptsEmail, CurrentSubmitter, DocumentKeyHeader, KeyHeader } from './send-emails.decorators';
import { type AcceptedRequest, SendEmailsService, type Submitter } from './accept/send-emails.service';
import {
  BATCH_EXAMPLES,
  BatchResultDto,
  MAX_BATCH,
  RAW_EXAMPLES,
  requireBatch,
  SEND_EXAMPLES,
  SendEmailDto,
  SendRawDto,
  toAcceptedDto,
  toBatchDto,
} from './dto/send-email.dto';

/** `POST /v1/emails`, raw messages, batches and resends: the response follows the commit. */
@ApiTags('Emails')
@Controller('v1/emails')
@RequireScope('email:send')
export class SendEmailsController {
  constructor(
    private readonly emails: SendEmailsService,
    private readonly messages: SendRawService,
    private readonly changes: EmailChangesService,
  ) {}

  @Post()
  @AcceptsEmail()
  @HasOwnTurns()
  @TakesBody(SEND_BODY)
  @ApiOperation({
    operationId: 'emails.send',
    summary: 'Send an email',
    description: 'A 202 means that the mail is committed to durable storage.',
  })
  @ApiBody({ type: SendEmailDto, examples: SEND_EXAMPLES })
  @ApiErrors(
    ...(['invalid_request', 'domain_not_allowed', 'idempotency_in_progress', 'payload_too_large'] as const),
    ...(['unsupported_media_type', 'domain_not_verified', 'recipient_suppressed'] as const),
    ...(['idempotency_key_reused', 'sending_limit_exceeded'] as const),
    ...(['template_not_found', 'template_render_failed'] as const),
  )
  async send(
    @CurrentSubmitter() submitter: Submitter,
    @Body() body: unknown,
    @KeyHeader() key: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ) {
    return reply(response, await this.emails.sendOne(body, key, submitter));
  }

  @Post('raw')
  @AcceptsEmail()
  @HasOwnTurns()
  @TakesBody(SEND_BODY)
  @ApiOperation({
    operationId: 'emails.sendRaw',
    summary: 'Send a message as it is',
    description:
      'A complete message (RFC 5322), which is not parsed into parts: it is sent unchanged and signed, without Bcc, and with Date and Message-ID if it has none.',
  })
  @ApiBody({ type: SendRawDto, examples: RAW_EXAMPLES })
  @ApiErrors(
    ...(['invalid_request', 'domain_not_allowed', 'idempotency_in_progress', 'payload_too_large'] as const),
    ...(['unsupported_media_type', 'domain_not_verified', 'recipient_suppressed'] as const),
    ...(['idempotency_key_reused', 'sending_limit_exceeded'] as const),
  )
  async sendRaw(
    @CurrentSubmitter() submitter: Submitter,
    @Body() body: unknown,
    @KeyHeader() key: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ) {
    return reply(response, await this.messages.send(body, key, submitter));
  }

  @Post('batch')
  @HttpCode(202)
  @RateLimitClass('batch')
  @HasOwnTurns()
  @TakesBody(BATCH_BODY)
  @ApiOperation({
    operationId: 'emails.sendBatch',
    summary: 'Send up to 100 emails',
    description: 'Items are independent: a refused one does not affect the others.',
  })
  @ApiBody({
    schema: { type: 'array', items: { $ref: getSchemaPath(SendEmailDto) }, minItems: 1, maxItems: MAX_BATCH },
    examples: BATCH_EXAMPLES,
  })
  @DocumentKeyHeader
  @ApiData(BatchResultDto, { status: 202 })
  @ApiErrors(
    ...(['invalid_request', 'idempotency_in_progress', 'payload_too_large'] as const),
    ...(['unsupported_media_type', 'idempotency_key_reused'] as const),
  )
  async sendBatch(
    @CurrentSubmitter() submitter: Submitter,
    @Body() body: unknown,
    @KeyHeader() key: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ) {
    const { results, replayed } = await this.emails.sendBatch(requireBatch(body), key, submitter);
    markReplay(response, replayed);
    return { data: toBatchDto(results) };
  }

  @Post(':id/resend')
  @AcceptsEmail()
  @ApiOperation({
    operationId: 'emails.resend',
    summary: 'Send an email again',
    description: 'Its content, to all of its recipients, as a new email; both emails refer to each other.',
  })
  @ApiErrors(
    ...(['invalid_request', 'resource_not_found', 'domain_not_allowed', 'idempotency_in_progress'] as const),
    ...(['email_not_resendable', 'domain_not_verified', 'recipient_suppressed'] as const),
    ...(['idempotency_key_reused', 'sending_limit_exceeded', 'payload_too_large', 'unsupported_media_type'] as const),
  )
  async resend(
    @CurrentSubmitter() submitter: Submitter,
    @PathId('id', 'Email') id: string,
    @KeyHeader() key: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ) {
    return reply(response, await this.changes.resend(submitter, id, key));
  }
}

function reply(response: Response, { accepted, replayed }: AcceptedRequest) {
  markReplay(response, replayed);
  return { data: toAcceptedDto(accepted) };
}

function markReplay(response: Response, replayed: boolean): void {
  if (replayed) response.setHeader('Idempotent-Replayed', 'true');
}
