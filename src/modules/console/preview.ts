import { applyDecorators, Header } from '@nestjs/common';
import { ApiOperation, type ApiOperationOptions, ApiPropertyOptional, ApiResponse } from '@nestjs/swagger';
import type { Response } from 'express';
import { QueryBoolean } from '../../common/http/dto-decorators';
import { bytesInTurns, escapedInTurns } from '../../common/http/large-responses';
import { ApiErrors } from '../../common/http/openapi.decorators';

export class PreviewQuery {
  /** Whether pictures and styles of other hosts are loaded, which tells their owners that the mail is read. */
  @ApiPropertyOptional({ type: Boolean, default: false, description: 'With pictures and styles of other hosts' })
  @QueryBoolean()
  remote: boolean = false;
}

/** A route that responds with a message as a document for the console's frame. */
export function PreviewRoute(operation: ApiOperationOptions): MethodDecorator {
  return applyDecorators(
    ApiOperation(operation),
    ApiResponse({ status: 200, description: 'Success', content: { 'text/html': { schema: { type: 'string' } } } }),
    ApiErrors('insufficient_permissions', 'resource_not_found'),
    Header('content-type', 'text/html; charset=utf-8'),
    Header('x-dns-prefetch-control', 'off'),
  );
}

const BEFORE_TEXT = Buffer.from('<!doctype html><pre style="white-space: pre-wrap">');
const AFTER_TEXT = Buffer.from('</pre>');

/** The document: the message's html, or else its text. Sets the policy that keeps it from doing anything. */
export async function previewOf(
  { html, text }: { readonly html?: string | null | undefined; readonly text?: string | null | undefined },
  { remote }: PreviewQuery,
  response: Response,
): Promise<Buffer> {
  response.setHeader('content-security-policy', policyOf(remote));
  if (typeof html === 'string') return bytesInTurns(html);
  return Buffer.concat([BEFORE_TEXT, await escapedInTurns(text ?? ''), AFTER_TEXT]);
}

/**
 * A mail's html is hostile until proven otherwise: an origin of its own (`sandbox`, which also holds when the document is
 * opened outside its frame), no script, no form, no link that leads anywhere.
 */
function policyOf(remote: boolean): string {
  const elsewhere = remote ? ' https: http:' : '';
  return [
    `default-src 'none'; img-src data:${elsewhere}; style-src 'unsafe-inline'${elsewhere}; font-src data:${elsewhere}`,
    "sandbox; frame-ancestors 'self'; form-action 'none'; base-uri 'none'",
  ].join('; ');
}
