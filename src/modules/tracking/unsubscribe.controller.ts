import { Controller, Get, HttpCode, Param, Post, Query, UseFilters } from '@nestjs/common';
import { ApiOperation, ApiQuery, ApiTags } from '@nestjs/swagger';
import { AcrossTenants, Public } from '../../common/http/scopes';
import { RateLimitClass } from '../../common/http/request-limits';
import { TakesBody } from '../../common/http/request-body';
import { donePage, ProblemPageFilter, questionPage, RespondsWithPage } from './tracking-pages';
import { UnsubscribeService } from './unsubscribe.service';

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
  @ApiQuery({ name: 'via', required: false, enum: ['page'], description: "Set by the page's own button" })
  @RespondsWithPage('Unsubscribed')
  async unsubscribe(@Param('token') token: string, @Query('via') via?: unknown): Promise<string> {
    return donePage(await this.unsubscribing.unsubscribe(token, via === 'page' ? 'page' : 'one-click'));
  }
}
