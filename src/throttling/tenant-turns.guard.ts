import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { SECOND } from '../common/clock';
import { HolderQueue } from '../common/async/holder-queue';
import { TooManyAtATimeError, UnavailableError } from '../common/errors/app-error';
import { OWN_TURNS_METADATA } from '../common/http/request-limits';
import { AppConfig } from '../config/config';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
/** Connections of the pool that reads leave free for everything else. */
const CONNECTIONS_FOR_OTHERS = 2;
/** The fewest places of a kind, however small the pool: a single organization then has one request at a time. */
const MIN_PLACES = 2;
/** Longer than any statement takes. Releases the place of a request whose client has disconnected and that never gets a response. */
const ABANDONED_MS = 10 * SECOND;

/**
 * Limits the concurrent reads, and the concurrent writes, of an organization to its share; the rest wait. Sixty lists at once held every
 * connection to the database, so that the mail of all other organizations was refused. It runs after the rate limits, which refuse without
 * waiting, and after the body has been read, which may arrive slowly.
 *
 * The shares are of this process's pool. A request takes one connection at a time (test/integration/auth/tenant-isolation.spec.ts), so
 * one organization alone holds at most seven of ten in each process, however many processes there are (docs/scaling.md).
 */
@Injectable()
export class TenantTurnsGuard implements CanActivate {
  private readonly reads: RequestTurns;
  private readonly writes: RequestTurns;

  constructor(
    private readonly reflector: Reflector,
    { database }: AppConfig,
  ) {
    this.reads = new RequestTurns(Math.max(MIN_PLACES, database.poolSize - CONNECTIONS_FOR_OTHERS));
    // A write may wait for the DNS of its webhook's host or for the check of a template: one of each organization always proceeds.
    this.writes = new RequestTurns(Math.max(MIN_PLACES, Math.floor(database.poolSize / 2)), 1);
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

  private turnsOf({ method }: Request, context: ExecutionContext): RequestTurns | undefined {
    if (READS.has(method)) return this.reads;
    const hasOwn = this.reflector.get<true | undefined>(OWN_TURNS_METADATA, context.getHandler());
    return hasOwn ? undefined : this.writes;
  }
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
    throw new UnavailableError('The client has disconnected');
  }
  request.onResponded = end;
  response.once('close', () => (response.headersSent ? end() : void setTimeout(end, ABANDONED_MS).unref()));
  return true;
}

/** Waiting requests of one organization; more would only fill memory. */
const MAX_WAITING = 500;

/**
 * Limits the number of concurrent requests. An organization has at most as many as are left to the others: half of all when it is
 * alone, a third beside another one that needs as many. Waiting requests proceed round robin over the organizations.
 */
export class RequestTurns {
  private readonly running = new Map<string, number>();
  private readonly waiting = new HolderQueue<() => void>();
  private total = 0;

  /**
   * @param always how many requests each organization may always have, whatever others use: for requests that may wait for more
   * than the database
   */
  constructor(
    private readonly max: number,
    private readonly always = 0,
  ) {}

  /** Returns undefined when the request may proceed at once. @throws TooManyAtATimeError when too many of the organization wait */
  begin(organizationId: string): Promise<void> | undefined {
    const waiting = this.waiting.sizeOf(organizationId);
    if (waiting === 0 && this.mayBegin(organizationId)) {
      this.change(organizationId, 1);
      return undefined;
    }
    if (waiting >= MAX_WAITING) throw new TooManyAtATimeError();
    return new Promise((resolve) => {
      this.waiting.add(organizationId, () => {
        this.change(organizationId, 1);
        resolve();
      });
    });
  }

  end(organizationId: string): void {
    this.change(organizationId, -1);
    const next = (): (() => void) | undefined => this.waiting.take((holder) => this.mayBegin(holder));
    for (let begin = next(); begin; begin = next()) begin();
  }

  private mayBegin(organizationId: string): boolean {
    return (this.running.get(organizationId) ?? 0) < Math.max(this.always, this.max - this.total);
  }

  private change(organizationId: string, by: 1 | -1): void {
    this.total += by;
    const own = (this.running.get(organizationId) ?? 0) + by;
    if (own > 0) this.running.set(organizationId, own);
    else this.running.delete(organizationId);
  }
}
