import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request, Response } from 'express';
import { SECOND } from '../common/clock';
import { UnavailableError } from '../common/errors/app-error';
import { AppConfig } from '../config/config';
import { ReadTurns } from './read-turns';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/** Connections to the database that reads leave to all else. */
const LEFT = 2;
const FEWEST = 4;
/** No statement takes longer. A read whose client has gone before its answer began may end without one. */
const ABANDONED_MS = 10 * SECOND;

/**
 * Lets an organization have its share of reads under way, and the others wait: sixty lists at once held every connection to
 * the database, so that the mail of all other organizations was refused. After the limits, which refuse without waiting.
 */
@Injectable()
export class ReadTurnsGuard implements CanActivate {
  private readonly turns: ReadTurns;

  constructor({ database }: AppConfig) {
    this.turns = new ReadTurns(Math.max(FEWEST, database.poolSize - LEFT));
  }

  /** @throws UnavailableError */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    const { method, principal } = request;
    if (!principal || !READS.has(method)) return true;
    const { organizationId } = principal;
    const response = http.getResponse<Response>();
    const waits = this.turns.begin(organizationId);
    const hold = (): true => this.hold(organizationId, request, response);
    return waits ? waits.then(hold) : hold();
  }

  /** Until it is answered, whether or not the client waits for that; a file that is sent piece by piece, until its client is gone. */
  private hold(organizationId: string, request: Request, response: Response): true {
    let isHeld = true;
    const end = (): void => {
      if (isHeld) this.turns.end(organizationId);
      isHeld = false;
    };
    if (response.destroyed) {
      end();
      throw new UnavailableError('The client has gone');
    }
    request.onAnswered = end;
    response.once('close', () => (response.headersSent ? end() : void setTimeout(end, ABANDONED_MS).unref()));
    return true;
  }
}
