import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ArgumentsHost } from '@nestjs/common';
import type { Request } from 'express';
import Negotiator from 'negotiator';
import type { AppError } from '../../errors/app-error';
import { endWith, sendError, statusOf } from './error-response';
import { escapeHtml, PAGE_HEADERS, pageFrame } from './html-page';

/** Links in mail, the console and the mailbox: people open these, in a browser. */
const PAGES = /^\/(?:u|t\/c|console|mailbox)(?:[/?]|$)/;
const TYPES = ['application/json', 'text/html'];

/** Whether the response is for a person: a page's address, opened by a browser and not by a program. */
export function wantsPage(request: IncomingMessage): boolean {
  const { url = '', headers } = request;
  return PAGES.test(url) && headers.accept !== undefined && new Negotiator(request).mediaType(TYPES) === 'text/html';
}

/** Sends the error of a request that is not routed: as a page where it is for a person, else as the envelope. */
export function sendRefusal(request: IncomingMessage, response: ServerResponse, error: AppError): void {
  if (!wantsPage(request)) {
    sendError(response, error);
    return;
  }
  sendPage(response, error, pageOf(error));
}

/**
 * Sends the error of a routed request as a page, with the status that it has for programs.
 * @param html of the error, whose internal causes it must not show
 */
export function sendErrorPage(
  host: ArgumentsHost,
  error: AppError,
  html: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const http = host.switchToHttp();
  if (statusOf(error) >= 500) http.getRequest<Request>().failure = error.cause ?? error;
  sendPage(http.getResponse<ServerResponse>(), error, html, headers);
}

function sendPage(
  response: ServerResponse,
  error: AppError,
  html: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.statusCode = statusOf(error);
  if (error.retryAfterSeconds !== undefined) response.setHeader('retry-after', error.retryAfterSeconds);
  // RFC 9110 section 11.6.1.
  if (response.statusCode === 401) response.setHeader('www-authenticate', 'Bearer');
  response.setHeader('cache-control', 'no-store');
  for (const [name, value] of Object.entries({ ...PAGE_HEADERS, ...headers })) response.setHeader(name, value);
  endWith(response, html);
}

function pageOf({ retryAfterSeconds, code }: AppError): string {
  if (retryAfterSeconds !== undefined) {
    return pageFrame(
      'Something went wrong',
      escapeHtml`<p>The service is not ready. Please try again in a moment.</p>`,
    );
  }
  return pageFrame(
    'This address does not work',
    escapeHtml`<p>It is not complete, or it has been changed on the way. Copy the whole link again.</p><p><code>${code}</code></p>`,
  );
}
