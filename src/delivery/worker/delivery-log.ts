import { Injectable, Logger } from '@nestjs/common';
import { AppConfig } from '../../config/config';
import type { DeliveryOutcome, Settlement } from '../ports/outcome';
import { TlsSessionCounts } from '../tls/tls-session-counts';
import { DeliveryTraces } from './delivery-traces';
import { DeliveryMetrics, failureClassOf } from './delivery.metrics';

const VERBOSE: ReadonlySet<string> = new Set(['trace', 'debug']);

/**
 * What became of deliveries, in the log: each attempt at level debug, and with `LOG_DELIVERIES` each end at level info.
 * Lines name emails and hosts, and no address.
 */
@Injectable()
export class DeliveryLog {
  private readonly logger = new Logger('Delivery');
  private readonly logsAttempts: boolean;
  private readonly logsEnds: boolean;

  constructor({ logLevel, logDeliveries }: AppConfig) {
    this.logsAttempts = VERBOSE.has(logLevel);
    this.logsEnds = logDeliveries;
  }

  /** To be called when they are committed. */
  settled(settlements: readonly Settlement[]): void {
    if (!this.logsAttempts && !this.logsEnds) return;
    for (const settlement of settlements) {
      const line = lineOf(settlement);
      if (this.logsAttempts) this.logger.debug({ msg: 'delivery attempt', ...line });
      if (this.logsEnds && line.nextAttemptAt === undefined) this.logger.log({ msg: 'delivery ended', ...line });
    }
  }
}

function lineOf({ claim, outcomes }: Settlement) {
  const [{ outcome, occurredAt }] = outcomes;
  const { organizationId, mode, emailId, position, attempt, claimedAt, firstDueAt } = claim;
  return {
    ...{ organizationId, mode, emailId, position, attempt },
    outcome: outcome.kind,
    class: failureClassOf(outcome),
    ...repliedBy(outcome),
    attemptMs: occurredAt.getTime() - claimedAt.getTime(),
    sinceDueMs: occurredAt.getTime() - firstDueAt.getTime(),
    nextAttemptAt: 'nextAttemptAt' in outcome ? outcome.nextAttemptAt : undefined,
  };
}

/** Of a reply its codes and where it came from: its text may repeat an address. */
function repliedBy(outcome: DeliveryOutcome): Record<string, unknown> {
  if (!('smtp' in outcome) || !outcome.smtp) return {};
  const { code, enhancedCode, mxHost, tls, phase, ruleId } = outcome.smtp;
  return { code, enhancedCode, mxHost, tls, phase, ruleId };
}

/** Tells all who watch what has been committed: the counters, the log, and the traces. */
@Injectable()
export class DeliveryReport {
  constructor(
    private readonly metrics: DeliveryMetrics,
    private readonly log: DeliveryLog,
    private readonly traces: DeliveryTraces,
    private readonly sessions: TlsSessionCounts,
  ) {}

  /** @param outdated how many more had come too late */
  settled(taken: readonly Settlement[], outdated: number): void {
    this.metrics.settled(taken, outdated);
    this.log.settled(taken);
    this.traces.settled(taken);
    this.sessions.settled(taken);
  }
}
