import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Request, Response } from 'express';
import { SECOND } from '../common/clock';
import { HolderQueue } from '../common/async/holder-queue';
import { TooManyAtATimeError, UnavailableError } from '../common/errors/app-error';
import { OWN_TURNS_METADATA } from '../common/http/request-limits';
import { AppConfig } from '../config/config';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);
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
    this.reads = new RequestTurns(Math.max(FEWEST, database.poolSize - LEFT));
    // A change may wait for a look-up of its webhook's host, or for a template that is checked: one of each organization goes on.
    this.writes = new RequestTurns(Math.max(FEWEST, Math.floor(database.poolSize / 2)), 1);
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

/** What waits of one organization; more would only fill memory. */
const MAX_WAITING = 500;

/**
 * How many requests are under way at a time. An organization has at most as many as are left to the others: half of all when it is
 * alone, a third beside another one that needs as much. What waits is begun in turn.
 */
export class RequestTurns {
  private readonly running = new Map<string, number>();
  private readonly waiting = new HolderQueue<() => void>();
  private total = 0;

  /**
   * @param always how many of each organization are under way at a time whatever others have: for requests that may wait for more
   * than the database
   */
  constructor(
    private readonly max: number,
    private readonly always = 0,
  ) {}

  /** Undefined when it may begin at once. @throws TooManyAtATimeError when too much of this organization waits */
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
