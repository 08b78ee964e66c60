import { Injectable } from '@nestjs/common';
import { Metrics } from '../../common/metrics/metrics';
import type { SubmissionRefusalReason } from './submission-refusal';

/** What the submission listener counts. */
@Injectable()
export class SubmissionMetrics {
  private readonly connections;
  private readonly messages;
  private readonly refusals;

  constructor(private readonly metrics: Metrics) {
    this.connections = metrics.counter({
      name: 'submission_connections_total',
      help: 'Connections to the submission listener',
    });
    this.messages = metrics.counter({
      name: 'submission_messages_total',
      help: 'Messages accepted over SMTP',
    });
    this.refusals = metrics.counter({
      name: 'submission_refusals_total',
      help: 'What the submission listener refused',
      labels: ['reason'],
    });
  }

  /** @param sessions how many are open */
  watch(sessions: () => number): void {
    this.metrics.gauge({ name: 'submission_sessions', help: 'Open connections to the submission listener' }, sessions);
  }

  countConnection(): void {
    this.connections.inc();
  }

  countMessage(): void {
    this.messages.inc();
  }

  countRefusal(reason: SubmissionRefusalReason): void {
    this.refusals.inc({ reason });
  }
}
