import { applyDecorators, createParamDecorator, type ExecutionContext, HttpCode } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { ValidationError } from '../../common/errors/app-error';
import { ApiData } from '../../common/http/dto/openapi.decorators';
import { requirePrincipal } from '../../common/http/principal';
import { holdMore } from '../../common/http/request/request-body';
import { RateLimitClass } from '../../common/http/request/request-limits';
import type { Submitter } from './accept/send-emails.service';
import { AcceptedEmailDto } from './dto/send-email.dto';

const KEY_HEADERS = ['X-Idempotency-Key', 'Idempotency-Key'] as const;

/** The idempotency key under either header name. @throws ValidationError when two are given that may differ */
export const KeyHeader = createParamDecorator((_data: unknown, context: ExecutionContext): string | undefined => {
  const { headers, rawHeaders } = context.switchToHttp().getRequest<Request>();
  const [one, other] = [headers['x-idempotency-key'], headers['idempotency-key']].map((value) => value?.toString());
  // Node joins two of one name: a repetition with one of them would be another key.
  const isJoined = [one, other].some((value) => value?.includes(', ') === true);
  const repeated = isJoined ? KEY_HEADERS.find((name) => isRepeated(name, rawHeaders)) : undefined;
  if (repeated !== undefined) throw new ValidationError({ [repeated]: [`${repeated} must be given once`] });
  if (one !== undefined && other !== undefined && one !== other) {
    throw new ValidationError({
      'Idempotency-Key': ['Idempotency-Key must equal X-Idempotency-Key; send one of them'],
    });
  }
  return one ?? other;
});

function isRepeated(header: string, rawHeaders: readonly string[]): boolean {
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  return names.indexOf(header.toLowerCase()) !== names.lastIndexOf(header.toLowerCase());
}

/** The caller, with the span of a traced request, the request's memory budget, and whether its client has gone. */
export const CurrentSubmitter = createParamDecorator((_data: unknown, context: ExecutionContext): Submitter => {
  const http = context.switchToHttp();
  const request = http.getRequest<Request>();
  const response = http.getResponse<Response>();
  const principal = requirePrincipal(request);
  const hold = (bytes: number): void => holdMore(request, bytes);
  const hasGone = (): boolean => response.destroyed || request.socket.destroyed;
  return { ...principal, hold, hasGone, ...(request.span && { trace: request.span.context }) };
});

/** Documents the idempotency header. */
export const DocumentKeyHeader = ApiHeader({
  name: 'X-Idempotency-Key',
  required: false,
  description:
    'Printable ASCII, kept for 24 hours: a repeated request gets the response of the first one. `Idempotency-Key` is the same header',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
});

/** A route that returns 202 with one new email. */
export const AcceptsEmail = () =>
  applyDecorators(HttpCode(202), RateLimitClass('send'), DocumentKeyHeader, ApiData(AcceptedEmailDto, { status: 202 }));
