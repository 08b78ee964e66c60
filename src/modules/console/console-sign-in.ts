import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { ConsoleLinksService } from '../../auth/console-links.service';
import { ConsoleSessionsService, ConsoleSignOut, type StartedSession } from '../../auth/console-sessions.service';
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
    private readonly signOuts: ConsoleSignOut,
    private readonly failures: AuthenticationFailures,
  ) {}

  /**
   * @param brought the session that the browser has so far: it ends
   * @throws AppError as `ConsoleSessionsService.signIn` and `ConsoleLinksService.redeem`; rate_limit_exceeded
   */
  async signIn(request: Request, credential: Credential, brought: string | undefined): Promise<StartedSession> {
    try {
      const started = await this.start(credential);
      if (brought !== undefined) await this.signOuts.signOut(brought, false);
      return started;
    } catch (error) {
      const isGuess = error instanceof AppError && error.code === 'invalid_api_key';
      throw isGuess ? this.failures.refusalFor(clientAddressOf(request), error) : error;
    }
  }

  signOut(token: string, everywhere: boolean): Promise<void> {
    return this.signOuts.signOut(token, everywhere);
  }

  private start(credential: Credential): Promise<StartedSession> {
    if ('key' in credential) return this.sessions.signIn(credential.key);
    return this.links.redeem(credential.link, (key) => this.sessions.signIn(key));
  }
}
