import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { SECOND } from '../common/clock';
import { UnavailableError } from '../common/errors/app-error';
import { type EndpointClass, RATE_LIMIT_CLASS_METADATA } from '../common/http/request-limits';
import { AppConfig } from '../config/config';
import { TenantTurns } from './tenant-turns';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/** Sends share their transactions; batches, and what waits for the DNS, have turns of their own (`SendEmailsService`, `DomainVerificationService`). */
const UNBOUNDED: ReadonlySet<EndpointClass | undefined> = new Set(['send', 'batch', 'domain-writes']);
/** Connections to the database that reads leave to all else. */
const LEFT = 2;
/** One organization alone then has one request of a kind at a time. */
const FEWEST = 2;
/** No statement takes longer. A request whose client has gone before the response began may end without one. */
const ABANDONED_MS = 10 * SECOND;

/**
 * Lets an organization have its share of reads under way, and of writes, and the rest wait: sixty lists at once held every
 * connection to the database, so that the mail of all other organizations was refused. After the limits, which refuse without
 * waiting, and after the body, which may come slowly.
 *
 * The shares are of this process's pool. A request takes one connection at a time (test/integration/auth/walls.spec.ts), so
 * one organization alone holds at most seven of ten in each process, however many processes there are (docs/scaling.md).
 */
@Injectable()
export class TenantTurnsGuard implements CanActivate {
  private readonly reads: TenantTurns;
  private readonly writes: TenantTurns;

  constructor(
    private readonly reflector: Reflector,
    { database }: AppConfig,
  ) {
    this.reads = new TenantTurns(Math.max(FEWEST, database.poolSize - LEFT));
    // A change may wait for a look-up of its webhook's host, or for a template that is checked: one of each organization goes on.
    this.writes = new TenantTurns(Math.max(FEWEST, Math.floor(database.poolSize / 2)), 1);
  }

  /** @throws UnavailableError */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    const { organizationId } = request.principal ?? {};
    const turns = this.turnsOf(request, context);
    if (organizationId === undefined || !turns) return true;
    const response = http.getResponse<Response>();
    const waits = turns.begin(organizationId);
    const hold = (): true => holdUntilResponded(() => turns.end(organizationId), request, response);
    return waits ? waits.then(hold) : hold();
  }

  private turnsOf({ method }: Request, context: ExecutionContext): TenantTurns | undefined {
    if (READS.has(method)) return this.reads;
    const named = this.reflector.get<EndpointClass | undefined>(RATE_LIMIT_CLASS_METADATA, context.getHandler());
    return UNBOUNDED.has(named) ? undefined : this.writes;
  }
}

/** Whether or not the client still waits. A client that reads its response slowly holds nothing. */
function holdUntilResponded(give: () => void, request: Request, response: Response): true {
  let isHeld = true;
  const end = (): void => {
    if (isHeld) give();
    isHeld = false;
  };
  if (response.destroyed) {
    end();
    throw new UnavailableError('The client has gone');
  }
  request.onResponded = end;
  response.once('close', () => (response.headersSent ? end() : void setTimeout(end, ABANDONED_MS).unref()));
  return true;
}
