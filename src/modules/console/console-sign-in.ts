import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { ConsoleLinksService } from '../../auth/console-links.service';
import { ConsoleSessionsService, type StartedSession } from '../../auth/console-sessions.service';
import { AppError } from '../../common/errors/app-error';
import { clientAddressOf } from '../../common/http/client-address';
import { AuthenticationFailures } from '../../common/http/request-limits';
import type { Credential } from './dto/console-session.dto';

/** Sign-ins of browsers, bounded per client address where they fail. */
@Injectable()
export class ConsoleSignIn {
  constructor(
    private readonly sessions: ConsoleSessionsService,
    private readonly links: ConsoleLinksService,
    private readonly failures: AuthenticationFailures,
  ) {}

  /** @throws AppError as `ConsoleSessionsService.signIn` and `ConsoleLinksService.redeem`; rate_limit_exceeded */
  async signIn(request: Request, credential: Credential, brought: string | undefined): Promise<StartedSession> {
    try {
      const key = 'key' in credential ? credential.key : await this.links.redeem(credential.link);
      return await this.sessions.signIn(key, brought);
    } catch (error) {
      const isGuess = error instanceof AppError && error.code === 'invalid_api_key';
      throw isGuess ? this.failures.refusalFor(clientAddressOf(request), error) : error;
    }
  }

  signOut(token: string, everywhere: boolean): Promise<void> {
    return this.sessions.signOut(token, everywhere);
  }
}
