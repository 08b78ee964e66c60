import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { AuditService, SYSTEM } from '../../../audit/audit.service';
import { MicroBatcher } from '../../../common/async/micro-batcher';
import { SingleFlight } from '../../../common/async/promises';
import { Clock, DAY, MINUTE, SECOND } from '../../../common/clock';
import { AppError, reasonOf } from '../../../common/errors/app-error';
import { Database } from '../../../database/pool/database.service';
import { ranOutOfTime, waitedForLock } from '../../../database/statements/database-errors';
import type { AddressResult, EndpointChange } from '../queue/sql/endpoint-health.sql';
import { WebhookEndpointsRepository } from '../queue/webhook-endpoints.repository';
import { WebhookMessagesRepository } from '../queue/webhook-messages.repository';
import type { EndpointKey, EndpointResult, SettledMessage } from '../queue/webhook-queue';

const FORWARDED_AT_ONCE = 1_000;
/** After a shorter failure the schedule is as quick; and a message that fails alone is not tried at every success. */
const SHORT_FAILURE_MS = MINUTE;

/**
 * When an endpoint responds after failures: its waiting messages are due at once. Only then is the recovery recorded, so that
 * after a crash the next success does the rest.
 */
@Injectable()
export class EndpointRecovery {
  private readonly logger = new Logger(EndpointRecovery.name);
  private readonly flights = new SingleFlight<void>();
  private readonly underWay = new Set<Promise<void>>();

  constructor(
    private readonly endpoints: WebhookEndpointsRepository,
    private readonly messages: WebhookMessagesRepository,
    private readonly clock: Clock,
  ) {}

  begin(endpoint: EndpointKey, failingSince: Date): void {
    const run = this.flights
      .run(endpoint.endpointId, () => this.recover(endpoint, failingSince))
      .catch((error: Error) => this.logger.warn(`Webhook endpoint ${endpoint.endpointId} waits on: ${reasonOf(error)}`))
      .finally(() => this.underWay.delete(run));
    this.underWay.add(run);
  }

  /** Resolves when nothing is under way. */
  async ended(): Promise<void> {
    await Promise.all(this.underWay);
  }

  private async recover(endpoint: EndpointKey, failingSince: Date): Promise<void> {
    const now = this.clock.now();
    if (now.getTime() - failingSince.getTime() >= SHORT_FAILURE_MS) {
      const failed = { endpoint, failingSince, now, limit: FORWARDED_AT_ONCE };
      while ((await this.messages.bringForward(failed)) === FORWARDED_AT_ONCE);
    }
    await this.endpoints.endFailure(endpoint, failingSince);
  }
}

const BATCH = 200;
/** After so long of nothing but failures an endpoint is disabled. */
const FAILING_LIMIT_MS = 5 * DAY;
/** How exact the time of the last success is: it is not written for every message. */
const LAST_SUCCESS_PRECISION_MS = 10 * SECOND;
/** How long a result is kept that cannot be written: after a longer outage, others have its claim. */
const KEPT_MS = 5 * MINUTE;
const MOST_PAUSES = 5;

/**
 * Writes the results of attempts and their effects on the endpoints, many attempts in one transaction. What cannot be written now is tried
 * again, so that an outage by itself repeats no webhook; a result whose claim has ended meanwhile changes nothing.
 */
@Injectable()
export class AttemptSettler {
  private readonly logger = new Logger(AttemptSettler.name);
  /** The unit of pauses; a test shortens it. */
  retryMs = SECOND;
  private readonly batcher = new MicroBatcher<SettledMessage, Error | undefined>((settled) => this.commit(settled), {
    maxWeight: BATCH,
    concurrency: 1,
    tookTooLong: ranOutOfTime,
    holderOf: ({ message }) => message.organizationId,
  });

  constructor(
    private readonly endpoints: WebhookEndpointsRepository,
    private readonly messages: WebhookMessagesRepository,
    private readonly audit: AuditService,
    private readonly recovery: EndpointRecovery,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * A result that cannot be written in time is lost: the claim ends by itself, and the message is sent once more. Never throws.
   * @param ending when it is aborted, a result that cannot be written is not tried again
   */
  async settle(settled: SettledMessage, ending: AbortSignal): Promise<void> {
    const untilMs = this.clock.monotonicMs() + KEPT_MS;
    for (let failures = 1; ; failures += 1) {
      const failure = await this.batcher.add(settled).catch((error: Error) => error);
      if (!failure) return;
      const isLost = ending.aborted || !(failure instanceof AppError) || this.clock.monotonicMs() >= untilMs;
      const then = isLost ? '' : ', trying again';
      this.logger.warn(`The result of a webhook could not be written${then}: ${reasonOf(failure)}`);
      if (isLost) return;
      await delay(this.retryMs * Math.min(MOST_PAUSES, failures), undefined, { signal: ending }).catch(() => undefined);
    }
  }

  /** What the database refuses, or another transaction has locked, must not hold up other organizations. @throws UnavailableError */
  private async commit(settled: readonly SettledMessage[]): Promise<(Error | undefined)[]> {
    try {
      await this.write(settled);
      return settled.map(() => undefined);
    } catch (error) {
      if (error instanceof AppError && !waitedForLock(error)) throw error;
      const parts = partsOf(settled, error instanceof AppError);
      if (parts.length === 1) return settled.map(() => error as Error);
      const failures = new Map<SettledMessage, Error | undefined>();
      for (const part of parts) {
        const outcomes = await this.commit(part).catch((failure: Error) => part.map(() => failure));
        part.forEach((one, index) => failures.set(one, outcomes[index]));
      }
      return settled.map((one) => failures.get(one));
    }
  }

  private async write(settled: readonly SettledMessage[]): Promise<void> {
    const results = resultsOf(settled);
    const now = this.clock.now();
    const changes = await this.database.transaction(async (tx) => {
      // Endpoints before messages: the order in which all transactions lock them.
      const changed = results.length === 0 ? [] : await this.endpoints.recordHealth({ results, ...limits(now) }, tx);
      await this.audit.record(changed.flatMap(auditOf), tx);
      this.messages.settle(settled, tx);
      return changed;
    });
    for (const change of changes) this.follow(change);
  }

  private follow(change: EndpointChange): void {
    if (change.endReason !== null) {
      this.logger.warn(`Webhook endpoint ${change.endpointId} is disabled: ${change.endReason}`);
    }
    if (change.isRecovered && change.failingSince) this.recovery.begin(change, change.failingSince);
  }
}

/** By organization; those of one, if it is not what is locked, one by one. */
function partsOf(settled: readonly SettledMessage[], isLocked: boolean): SettledMessage[][] {
  const organizations = new Set(settled.map(({ message }) => message.organizationId));
  if (organizations.size === 1 && !isLocked) return settled.map((one) => [one]);
  return [...organizations].map((id) => settled.filter(({ message }) => message.organizationId === id));
}

function limits(now: Date) {
  const before = (ms: number) => new Date(now.getTime() - ms);
  return { now, failingBefore: before(FAILING_LIMIT_MS), succeededBefore: before(LAST_SUCCESS_PRECISION_MS) };
}

const WEIGHT: Record<EndpointResult, number> = { failed: 0, succeeded: 1, gone: 2 };

/** One for each endpoint and URL: one success among failures shows that it is there. */
function resultsOf(settled: readonly SettledMessage[]): AddressResult[] {
  const byAddress = new Map<string, AddressResult>();
  for (const { message, result } of settled) {
    const { organizationId, mode, endpointId, url } = message;
    const known = byAddress.get(`${endpointId} ${url}`);
    if (result === undefined || (known && WEIGHT[known.result] >= WEIGHT[result])) continue;
    byAddress.set(`${endpointId} ${url}`, { organizationId, mode, endpointId, url, result });
  }
  return [...byAddress.values()];
}

function auditOf({ organizationId, endpointId, mode, endReason }: EndpointChange) {
  if (endReason === null) return [];
  const target = { targetType: 'webhook', targetId: endpointId };
  return [{ organizationId, actor: SYSTEM, action: 'webhook.disabled', ...target, data: { mode, reason: endReason } }];
}
