import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { SECOND } from '../common/clock';
import { HolderTurns, leavingOthers } from '../common/async/holder-turns';
import { ClientGoneError } from '../common/errors/app-error';
import { OWN_TURNS_METADATA } from '../common/http/request/request-limits';
import { CLIENT_GONE } from '../common/tenant';
import { AppConfig } from '../config/config';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/** Connections of the pool that reads leave free for everything else. */
const CONNECTIONS_FOR_OTHERS = 2;
/** The fewest places of a kind, however small the pool: a single organization then has one request at a time. */
const MIN_PLACES = 2;
/** Longer than any statement takes. Releases the place of a request whose client has disconnected and that never gets a response. */
const ABANDONED_MS = 10 * SECOND;
/** Waiting requests of one organization; more would only fill memory. */
const MAX_WAITING = 500;

/**
 * Limits the concurrent reads, and the concurrent writes, of an organization to its share; the rest wait. Sixty lists at once held every
 * connection to the database, so that the mail of all other organizations was refused. It runs after the rate limits, which refuse without
 * waiting, and after the body has been read, which may arrive slowly.
 *
 * The shares are of this process's pool. A request takes one connection at a time (test/integration/auth/tenant-isolation.spec.ts), so
 * one organization alone holds at most three of eight in each process, however many processes there are (docs/scaling.md).
 */
@Injectable()
export class TenantTurnsGuard implements CanActivate {
  private readonly reads: HolderTurns;
  private readonly writes: HolderTurns;

  constructor(
    private readonly reflector: Reflector,
    { database }: AppConfig,
  ) {
    const reads = Math.max(MIN_PLACES, database.poolSize - CONNECTIONS_FOR_OTHERS);
    this.reads = new HolderTurns(leavingOthers(reads), MAX_WAITING);
    // A write may wait for the DNS of its webhook's host or for the check of a template: one of each organization always proceeds.
    const writes = Math.max(MIN_PLACES, Math.floor(database.poolSize / 2));
    this.writes = new HolderTurns(leavingOthers(writes, 1), MAX_WAITING);
  }

  /** @throws TooManyAtATimeError; ClientGoneError */
  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    const { organizationId } = request.principal ?? {};
    const turns = this.turnsOf(request, context);
    if (organizationId === undefined || !turns) return true;
    const response = http.getResponse<Response>();
    const waits = turns.begin(organizationId, () => goneSignal(response));
    const hold = (): true => holdUntilResponded(() => turns.end(organizationId), request, response);
    return waits ? waits.then(hold) : hold();
  }

  private turnsOf({ method }: Request, context: ExecutionContext): HolderTurns | undefined {
    if (READS.has(method)) return this.reads;
    const hasOwn = this.reflector.get<true | undefined>(OWN_TURNS_METADATA, context.getHandler());
    return hasOwn ? undefined : this.writes;
  }
}

/** Most requests do not wait and need none: with its abort it took 5 % of the time of a request that does little. */
function goneSignal(response: Response): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => gone.abort(CLIENT_GONE));
  if (response.destroyed) gone.abort(CLIENT_GONE);
  return gone.signal;
}

/** Releases the place once the response begins or the client has disconnected: a client that reads slowly holds none. */
function holdUntilResponded(give: () => void, request: Request, response: Response): true {
  let isHeld = true;
  const end = (): void => {
    if (isHeld) give();
    isHeld = false;
  };
  if (response.destroyed) {
    end();
    throw new ClientGoneError();
  }
  request.onResponded = end;
  response.once('close', () => (response.headersSent ? end() : void setTimeout(end, ABANDONED_MS).unref()));
  return true;
}
