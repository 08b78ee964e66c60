import { Controller, Get, Header, HttpCode, Param, Post, Query, Redirect, Req, UseFilters } from '@nestjs/common';
import { ApiOperation, ApiQuery, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request } from 'express';
import { clientAddressOf, isOnThisMachine } from '../../common/http/request/client-address';
import { AcrossTenants, Public } from '../../common/http/scopes';
import { NotFoundError } from '../../common/errors/app-error';
import { ApiPublicErrors } from '../../common/http/dto/openapi.decorators';
import {
  BrokenLinkFilter,
  DocumentsBrokenLinks,
  donePage,
  ProblemPageFilter,
  questionPage,
  RespondsWithPage,
} from './tracking-pages';
import type { Visit } from './automation';
import { TrackingService, UnsubscribeService } from './tracking.service';
import { RateLimitClass } from '../../common/http/request/request-limits';
import { TakesBody } from '../../common/http/request/request-body';

/** A transparent GIF of 43 bytes. */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==', 'base64');
const NOT_CACHED = 'no-store, no-cache, must-revalidate, private, max-age=0';
const ROBOTS = 'noindex, nofollow';

/** `/t`: the pixel and the links in tracked mail. They respond without a query. */
@ApiTags('Tracking')
@Controller('t')
@Public()
@AcrossTenants()
export class TrackingController {
  constructor(private readonly tracking: TrackingService) {}

  @Get('o/:token')
  @Header('content-type', 'image/gif')
  @Header('cache-control', NOT_CACHED)
  @Header('cross-origin-resource-policy', 'cross-origin')
  @Header('x-robots-tag', ROBOTS)
  @ApiOperation({
    summary: 'The pixel in a tracked email',
    description: 'Records that the recipient has opened the email, within three seconds after the response.',
  })
  @ApiResponse({
    status: 200,
    description: 'A transparent image of one pixel, the same for every genuine token',
    content: { 'image/gif': { schema: { type: 'string', format: 'binary' } } },
  })
  @ApiPublicErrors('resource_not_found', 'internal_error', 'service_unavailable')
  open(@Param('token') token: string, @Req() request: Request): Buffer {
    if (!this.tracking.open(token, visitOf(request))) throw new NotFoundError('Pixel');
    return PIXEL;
  }

  @Get('c/:token')
  @Redirect()
  @Header('cache-control', NOT_CACHED)
  @Header('x-robots-tag', ROBOTS)
  @UseFilters(BrokenLinkFilter)
  @ApiOperation({
    summary: 'A link in a tracked email',
    description:
      'Redirects to the address that the email linked to, which is part of the signed token, and records that the recipient ' +
      'has clicked it, within three seconds after the response.',
  })
  @ApiResponse({
    status: 302,
    description: 'The address of the link',
    headers: { Location: { schema: { type: 'string', format: 'uri' } } },
  })
  @DocumentsBrokenLinks()
  @ApiPublicErrors('internal_error', 'service_unavailable')
  click(@Param('token') token: string, @Req() request: Request): { url: string; statusCode: number } {
    const url = this.tracking.click(token, visitOf(request));
    if (url === undefined) throw new NotFoundError('Link');
    return { url, statusCode: 302 };
  }
}

function visitOf(request: Request): Visit {
  const { method, headers } = request;
  // Browsers that prefetch a page declare it: `prefetch;prerender`, older ones `preview`.
  const purposes = [headers['sec-purpose'], headers.purpose, headers['x-purpose'], headers['x-moz']].join();
  return {
    isHead: method === 'HEAD',
    isPrefetch: /\b(prefetch|prerender|preview)\b/i.test(purposes),
    userAgent: headers['user-agent'] ?? '',
    address: clientAddressOf(request),
    isOnThisMachine: isOnThisMachine(request),
  };
}

/** `/u`: the unsubscribe link in bulk mail: a page with a button for people, one click for mail programs (RFC 8058). */
@ApiTags('Tracking')
@Controller('u')
@Public()
@AcrossTenants()
@UseFilters(ProblemPageFilter)
export class UnsubscribeController {
  constructor(private readonly unsubscribing: UnsubscribeService) {}

  @Get(':token')
  @ApiOperation({
    summary: 'The page behind the unsubscribe link',
    description: 'Shows a button and changes nothing: mail programs and filters open every link in a mail.',
  })
  @RespondsWithPage('The question')
  async ask(@Param('token') token: string): Promise<string> {
    return questionPage(await this.unsubscribing.find(token));
  }

  @Post(':token')
  @HttpCode(200)
  @RateLimitClass('unsubscribe')
  @TakesBody({ ignored: true })
  @ApiOperation({
    summary: 'Unsubscribe with one click (RFC 8058)',
    description:
      'Lists the recipient as `unsubscribe` for the organization and mode before it responds; bulk mail is refused from then ' +
      'on. A body of any type is read and ignored. A repetition gets the same response and writes nothing. Limited per ' +
      'client address.',
  })
  @ApiQuery({
    name: 'via',
    required: false,
    enum: ['page'],
    description: "Set by the page's own button; anything else is ignored",
  })
  @RespondsWithPage('Unsubscribed')
  async unsubscribe(@Param('token') token: string, @Query('via') via?: unknown): Promise<string> {
    return donePage(await this.unsubscribing.unsubscribe(token, via === 'page' ? 'page' : 'one-click'));
  }
}
