import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { ConsoleCookie } from '../../auth/console-cookie';
import { NotFoundError } from '../../common/errors/app-error';
import { AppConfig } from '../../config/config';

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

/** Browsers tell where a write comes from, old ones by `Origin` alone. A program tells nothing. */
function isOfOtherPage({ headers }: Request): boolean {
  const { origin, host, 'sec-fetch-site': site } = headers;
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  return origin !== undefined && origin.replace(/^https?:\/\//, '') !== host;
}
