import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { ConsoleLinksService } from '../../auth/console-sessions/console-links.service';
import {
  ConsoleSessionsService,
  ConsoleSignOut,
  type StartedSession,
} from '../../auth/console-sessions/console-sessions.service';
import { AppError } from '../../common/errors/app-error';
import { AuthenticationFailures, RequestLimits } from '../../common/http/request/request-limits';
import type { Credential } from './dto/console-session.dto';
import { type SessionView, SessionViewService } from './session-view.service';

/** Sign-ins of browsers, bounded per key, and per client address where they fail. */
@Injectable()
export class ConsoleSignIn {
  constructor(
    private readonly sessions: ConsoleSessionsService,
    private readonly links: ConsoleLinksService,
    private readonly signOuts: ConsoleSignOut,
    private readonly views: SessionViewService,
    private readonly failures: AuthenticationFailures,
    private readonly limits: RequestLimits,
  ) {}

  /**
   * @param brought the session that the browser has so far: it ends
   * @throws AppError as `ConsoleSessionsService.signIn` and `ConsoleLinksService.redeem`; rate_limit_exceeded
   */
  async signIn(request: Request, credential: Credential, brought: string | undefined): Promise<StartedSession> {
    const started = await this.failures.verify(request, secretOf(credential), () => this.start(credential));
    if (brought !== undefined) await this.signOuts.signOut(brought, false);
    return started;
  }

  /** A browser's session, whose secret may be a guess. @throws AppError invalid_api_key once it has ended; rate_limit_exceeded */
  current(request: Request, token: string): Promise<SessionView> {
    return this.failures.verify(request, token, () => this.views.current(token));
  }

  /** One that has ended already is no error. @throws AppError rate_limit_exceeded */
  async signOut(request: Request, token: string, everywhere: boolean): Promise<void> {
    const end = async (): Promise<void> => {
      const isEnded = await this.signOuts.signOut(token, everywhere);
      if (!isEnded) throw new AppError('invalid_api_key', 'This session has ended');
    };
    await this.failures.verify(request, token, end).catch((error: unknown) => {
      if (!(error instanceof AppError && error.code === 'invalid_api_key')) throw error;
    });
  }

  private start(credential: Credential): Promise<StartedSession> {
    const signIn = (key: string) => this.sessions.signIn(key, (keyId) => this.limits.countSignIn(keyId));
    return 'key' in credential ? signIn(credential.key) : this.links.redeem(credential.link, signIn);
  }
}

function secretOf(credential: Credential): string {
  return 'key' in credential ? credential.key : credential.link;
}
