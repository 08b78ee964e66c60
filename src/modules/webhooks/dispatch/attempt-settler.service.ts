import { Injectable, Logger } from '@nestjs/common';
import { AuditService, SYSTEM } from '../../../audit/audit.service';
import { MicroBatcher } from '../../../common/async/micro-batcher';
import { SingleFlight } from '../../../common/async/promises';
import { Clock, DAY, MINUTE, SECOND } from '../../../common/clock';
import { reasonOf } from '../../../common/errors/app-error';
import { Database } from '../../../database/pool/database.service';
import { ranOutOfTime } from '../../../database/statements/database-errors';
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

/** Writes the results of attempts and their effects on the endpoints, many attempts in one transaction. */
@Injectable()
export class AttemptSettler {
  private readonly logger = new Logger(AttemptSettler.name);
  private readonly batcher = new MicroBatcher((settled: SettledMessage[]) => this.write(settled), {
    maxWeight: BATCH,
    concurrency: 1,
    tookTooLong: ranOutOfTime,
  });

  constructor(
    private readonly endpoints: WebhookEndpointsRepository,
    private readonly messages: WebhookMessagesRepository,
    private readonly audit: AuditService,
    private readonly recovery: EndpointRecovery,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** A result that cannot be written is lost: the claim ends by itself, and the message is sent once more. */
  async settle(settled: SettledMessage): Promise<void> {
    try {
      await this.batcher.add(settled);
    } catch (error) {
      this.logger.warn(`The result of a webhook could not be written: ${reasonOf(error)}`);
    }
  }

  private async write(settled: readonly SettledMessage[]): Promise<void[]> {
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
    return settled.map(() => undefined);
  }

  private follow(change: EndpointChange): void {
    if (change.endReason !== null) {
      this.logger.warn(`Webhook endpoint ${change.endpointId} is disabled: ${change.endReason}`);
    }
    if (change.isRecovered && change.failingSince) this.recovery.begin(change, change.failingSince);
  }
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
