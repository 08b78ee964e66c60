import { Injectable, Logger } from '@nestjs/common';
import { AuditService, SYSTEM } from '../../../audit/audit.service';
import { MicroBatcher } from '../../../common/async/micro-batcher';
import { Clock, DAY, SECOND } from '../../../common/clock';
import { Database } from '../../../database/database.service';
import type { EndpointChange } from '../sql/endpoint-health.sql';
import { WebhookEndpointsRepository } from '../webhook-endpoints.repository';
import { WebhookMessagesRepository } from '../webhook-messages.repository';
import type { EndpointKey, EndpointResult, SettledMessage } from '../webhook-queue';
import { EndpointRecovery } from './endpoint-recovery.service';

const BATCH = 200;
/** After so long of nothing but failures an endpoint is disabled. */
const FAILING_LIMIT_MS = 5 * DAY;
/** How exact the time of the last success is. */
const SUCCESS_NEWS_MS = 10 * SECOND;

/** Writes the results of attempts and what they say about the endpoints, many attempts in one transaction. */
@Injectable()
export class AttemptSettler {
  private readonly logger = new Logger(AttemptSettler.name);
  private readonly batcher = new MicroBatcher((settled: SettledMessage[]) => this.write(settled), {
    maxWeight: BATCH,
    concurrency: 1,
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
      this.logger.warn(`The result of a webhook could not be written: ${(error as Error).message}`);
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
  return { now, failingBefore: before(FAILING_LIMIT_MS), succeededBefore: before(SUCCESS_NEWS_MS) };
}

const WEIGHT: Record<EndpointResult, number> = { failed: 0, succeeded: 1, gone: 2 };

/** One for each endpoint: one success among failures shows that it is there. */
function resultsOf(settled: readonly SettledMessage[]): (EndpointKey & { readonly result: EndpointResult })[] {
  const byEndpoint = new Map<string, EndpointKey & { readonly result: EndpointResult }>();
  for (const { message, result } of settled) {
    const { organizationId, mode, endpointId } = message;
    const known = byEndpoint.get(endpointId);
    if (result === undefined || (known && WEIGHT[known.result] >= WEIGHT[result])) continue;
    byEndpoint.set(endpointId, { organizationId, mode, endpointId, result });
  }
  return [...byEndpoint.values()];
}

function auditOf({ organizationId, endpointId, mode, endReason }: EndpointChange) {
  if (endReason === null) return [];
  const target = { targetType: 'webhook', targetId: endpointId };
  return [{ organizationId, actor: SYSTEM, action: 'webhook.disabled', ...target, data: { mode, reason: endReason } }];
}
