import { Injectable } from '@nestjs/common';
import { Metrics } from '../../common/metrics/metrics';
import { type Stored, STORED } from '../inbound-mail/inbound-mail.service';
import {
  APPENDED,
  type Appended,
  PUBLIC_MAILBOXES,
  type PublicMailbox,
} from '../inbound-reports/queue/inbound-reports.service';
import { REFUSAL_REASONS, type RefusalReason } from './smtp-refusal';

/** What the listener counts. */
@Injectable()
export class InboundMetrics {
  private readonly connections;
  private readonly reports;
  private readonly feedback;
  private readonly refusals;
  private readonly routed;

  constructor(metrics: Metrics) {
    this.connections = metrics.counter({
      name: 'inbound_connections_total',
      help: 'Connections to the bounce listener',
    });
    this.reports = metrics.counter({
      name: 'inbound_reports_total',
      help: 'Reports taken by the bounce listener, one for each delivery they are about',
      labels: { result: ['accepted', 'duplicate'] },
    });
    this.feedback = metrics.counter({
      name: 'inbound_feedback_total',
      help: 'Mail to the addresses that anyone may write to',
      labels: { mailbox: PUBLIC_MAILBOXES, result: APPENDED },
    });
    this.routed = metrics.counter({
      name: 'inbound_emails_total',
      help: 'Mail to inbound routes, one for each route',
      labels: { result: STORED },
    });
    this.refusals = metrics.counter({
      name: 'inbound_refusals_total',
      help: 'What the bounce listener refused',
      labels: { reason: REFUSAL_REASONS },
    });
  }

  countConnection(): void {
    this.connections.inc();
  }

  countReports(accepted: number, duplicates: number): void {
    this.reports.inc({ result: 'accepted' }, accepted);
    this.reports.inc({ result: 'duplicate' }, duplicates);
  }

  countFeedback(mailbox: PublicMailbox, result: Appended): void {
    this.feedback.inc({ mailbox, result });
  }

  countRouted(result: Stored): void {
    this.routed.inc({ result });
  }

  countRefusal(reason: RefusalReason): void {
    this.refusals.inc({ reason });
  }
}
