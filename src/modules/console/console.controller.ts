import {
  Body,
  type CanActivate,
  Controller,
  Delete,
  type ExecutionContext,
  Get,
  HttpCode,
  Injectable,
  Param,
  Post,
  Query,
  Req,
  Res,
  UseGuards,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { ConsoleCookie } from '../../auth/console-sessions/console-cookie';
import { NotFoundError } from '../../common/errors/app-error';
import { AcrossTenants, Public } from '../../common/http/scopes';
import { sendFile } from '../../common/http/responses/static-file';
import { AppConfig } from '../../config/config';
import { type ConsoleFile, ConsoleFiles } from './console-files';
import { RateLimitClass } from '../../common/http/request/request-limits';
import { ConsoleSignIn } from './console-sign-in';
import { SessionViewService } from './session-view.service';
import { SignInDto, SignOutQuery, toCredential } from './dto/console-session.dto';

/**
 * `CONSOLE_ENABLED=false`: there is no console. Signing in and out with a cookie needs its header, as every write with one does;
 * without a cookie only what a page of another origin sends: it could sign somebody in as somebody else.
 */
@Injectable()
export class ConsoleAccessGuard implements CanActivate {
  private readonly isEnabled: boolean;

  constructor(
    private readonly cookie: ConsoleCookie,
    { console: { enabled } }: AppConfig,
  ) {
    this.isEnabled = enabled;
  }

  canActivate(context: ExecutionContext): boolean {
    if (!this.isEnabled) throw new NotFoundError('Resource');
    const request = context.switchToHttp().getRequest<Request>();
    if (this.cookie.tokenOf(request) !== undefined || isOfOtherPage(request)) this.cookie.refuseForeignWrite(request);
    return true;
  }
}

/** Browsers send the origin of a write, old ones by `Origin` alone. Programs send nothing. */
function isOfOtherPage({ headers }: Request): boolean {
  const { origin, host, 'sec-fetch-site': site } = headers;
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  return origin !== undefined && origin.replace(/^https?:\/\//, '') !== host;
}

/** The browser app: one page, whatever the address below `/console`, and its scripts and styles. */
@ApiExcludeController()
@Controller('console')
@Public()
@UseGuards(ConsoleAccessGuard)
export class ConsoleController {
  constructor(private readonly files: ConsoleFiles) {}

  @Get()
  async home(@Req() request: Request, @Res() response: Response): Promise<void> {
    send(request, response, await this.files.page());
  }

  @Get('assets/:file')
  async asset(@Param('file') name: string, @Req() request: Request, @Res() response: Response): Promise<void> {
    send(request, response, await this.files.asset(name));
  }

  @Get('{*path}')
  async page(@Req() request: Request, @Res() response: Response): Promise<void> {
    send(request, response, await this.files.page());
  }
}

function send(request: Request, response: Response, { plain, gzipped }: ConsoleFile): void {
  const takesGzip = gzipped !== undefined && request.acceptsEncodings('gzip') !== false;
  sendFile(request, response, takesGzip ? gzipped : plain);
}

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
    return { data: token === undefined ? null : await this.signIns.current(request, token) };
  }

  @Delete()
  @HttpCode(200)
  async signOut(
    @Req() request: Request,
    @Query() { everywhere }: SignOutQuery,
    @Res({ passthrough: true }) response: Response,
  ) {
    const token = this.cookie.tokenOf(request);
    if (token !== undefined) await this.signIns.signOut(request, token, everywhere);
    this.cookie.clear(request, response);
    return { data: { signedOut: true } };
  }
}
