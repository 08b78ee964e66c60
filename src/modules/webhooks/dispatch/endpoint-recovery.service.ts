import { Injectable, Logger } from '@nestjs/common';
import { Clock, MINUTE } from '../../../common/clock';
import { SingleFlight } from '../../../common/async/promises';
import { WebhookEndpointsRepository } from '../webhook-endpoints.repository';
import { WebhookMessagesRepository } from '../webhook-messages.repository';
import type { EndpointKey } from '../webhook-queue';
import { ATTEMPTS } from './evaluate-attempt';

const BATCH = 1_000;
/** After a shorter failure the schedule is as quick; and a message that alone fails is not tried at every success. */
const SHORT_FAILURE_MS = MINUTE;
/** An attempt that failed began before it was recorded that the endpoint fails. */
const LONGEST_ATTEMPT_MS = MINUTE;

/**
 * What happens when an endpoint responds well after failures: what waits for it is due at once. Only then is it recorded that
 * it no longer fails, so that a process that dies in between leaves this to the next success.
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
      .catch((error: Error) => this.logger.warn(`Webhook endpoint ${endpoint.endpointId} waits on: ${error.message}`))
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
      const triedSince = new Date(failingSince.getTime() - LONGEST_ATTEMPT_MS);
      const input = { endpoint, now, triedSince, triedLessThan: ATTEMPTS, limit: BATCH };
      while ((await this.messages.bringForward(input)) === BATCH);
    }
    await this.endpoints.endFailure(endpoint, failingSince);
  }
}
