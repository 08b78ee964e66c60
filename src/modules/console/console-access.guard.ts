import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { ConsoleCookie } from '../../auth/console-cookie';
import { NotFoundError } from '../../common/errors/app-error';
import { AppConfig } from '../../config/config';

/** `CONSOLE_ENABLED=false`: there is no console. Signing in and out needs its header, as every write with its cookie. */
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
    this.cookie.refuseForeignWrite(context.switchToHttp().getRequest<Request>());
    return true;
  }
}
