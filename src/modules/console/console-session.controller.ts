import { Body, Controller, Delete, Get, HttpCode, Post, Query, Req, Res, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { ConsoleCookie } from '../../auth/console-cookie';
import { RateLimitClass } from '../../common/http/request-limits';
import { AcrossTenants, Public } from '../../common/http/scopes';
import { ConsoleAccessGuard } from './console.controller';
import { ConsoleSignIn } from './console-sign-in';
import { SessionViewService } from './session-view.service';
import { SignInDto, SignOutQuery, toCredential } from './dto/console-session.dto';

/** Exchanges an API key, or a link that works once, for a session cookie; returns the session; signs out. */
@ApiExcludeController()
@Controller('console/session')
@Public()
@AcrossTenants()
@UseGuards(ConsoleAccessGuard)
export class ConsoleSessionController {
  constructor(
    private readonly signIns: ConsoleSignIn,
    private readonly views: SessionViewService,
    private readonly cookie: ConsoleCookie,
  ) {}

  @Post()
  @RateLimitClass('console-sign-in')
  async signIn(@Req() request: Request, @Body() body: SignInDto, @Res({ passthrough: true }) response: Response) {
    const credential = toCredential(body);
    const { token, caller } = await this.signIns.signIn(request, credential, this.cookie.tokenOf(request));
    this.cookie.set(request, response, token);
    return { data: await this.views.of(caller) };
  }

  /** Null without a session. */
  @Get()
  async current(@Req() request: Request) {
    const token = this.cookie.tokenOf(request);
    return { data: token === undefined ? null : await this.views.current(token) };
  }

  @Delete()
  @HttpCode(200)
  async signOut(
    @Req() request: Request,
    @Query() { everywhere }: SignOutQuery,
    @Res({ passthrough: true }) response: Response,
  ) {
    const token = this.cookie.tokenOf(request);
    if (token !== undefined) await this.signIns.signOut(token, everywhere);
    this.cookie.clear(request, response);
    return { data: { signedOut: true } };
  }
}
