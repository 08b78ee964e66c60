import { Injectable, Logger } from '@nestjs/common';
import { Clock } from '../../common/clock';
import { type SpanAttributes, Tracing } from '../../common/tracing/tracing';
import { AppConfig } from '../../config/config';
import type { PhaseTimes } from '../ports/attempt-trace';
import type { DeliveryOutcome, Settlement } from '../ports/outcome';
import { TlsSessionCounts } from '../tls/tls-session-counts';
import { DeliveryMetrics, failureClassOf, type Salvage } from './delivery.metrics';

const VERBOSE: ReadonlySet<string> = new Set(['trace', 'debug']);

/**
 * Results of deliveries in the log: each attempt at level debug, and with `LOG_DELIVERIES` each end at level info. Lines
 * contain email ids and hosts, and no address.
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

/**
 * The part of a send's trace that comes after its acceptance. The context travels with the delivery through the queue;
 * every attempt adds its spans when its result is committed:
 *
 *   request ─┬─ accept
 *            ├─ queue wait (before the first attempt)
 *            └─ delivery attempt ─┬─ smtp (the conversation, with what its phases took)
 *                                 └─ settle
 */
@Injectable()
export class DeliveryTraces {
  constructor(
    private readonly tracing: Tracing,
    private readonly clock: Clock,
  ) {}

  /** To be called when the results are committed. */
  settled(settlements: readonly Settlement[]): void {
    if (!this.tracing.isOn) return;
    for (const settlement of settlements) {
      const { traceContext: trace } = settlement.claim;
      if (trace) this.record(settlement, trace);
    }
  }

  private recordConversation({ outcomes: [{ trace, outcome }] }: Settlement, parent: string): void {
    if (!trace?.phasesMs || !trace.route) return;
    const { startedAt, durationMs, route, tls, phasesMs } = trace;
    this.tracing.record({
      ...{ name: 'smtp', kind: 'client' as const, parent },
      ...{ startedAt, endedAt: new Date(startedAt.getTime() + durationMs) },
      attributes: {
        'network.peer.address': route.address,
        'network.peer.port': route.port,
        'tls.protocol.version': tls?.version,
        ...phasesOf(phasesMs),
      },
      error: failureClassOf(outcome),
    });
  }

  private record(settlement: Settlement, parent: string): void {
    const { claim, outcomes } = settlement;
    const [{ occurredAt, attempt }] = outcomes;
    const attributes = keyOf(settlement);
    if (claim.attempt === 1) {
      const wait = { startedAt: claim.firstDueAt, endedAt: laterOf(claim.firstDueAt, claim.claimedAt) };
      this.tracing.record({ name: 'queue wait', parent, ...wait, attributes });
    }
    const context = this.tracing.record({
      ...{ name: 'delivery attempt', kind: 'consumer' as const, parent },
      ...{ startedAt: claim.claimedAt, endedAt: laterOf(claim.claimedAt, occurredAt) },
      attributes: { ...attributes, 'waybill.delivery.attempt': attempt, ...factsOf(settlement) },
      error: failureClassOf(outcomes[0].outcome),
    });
    this.recordConversation(settlement, context);
    const settling = { startedAt: occurredAt, endedAt: laterOf(occurredAt, this.clock.now()) };
    this.tracing.record({ name: 'settle', parent: context, ...settling, attributes: {} });
  }
}

/** What the phases of the conversation took, in milliseconds. */
function phasesOf(phases: PhaseTimes): SpanAttributes {
  return Object.fromEntries(Object.entries(phases).map(([phase, ms]) => [`waybill.smtp.${phase}_ms`, ms]));
}

/** Clocks of two processes agree within milliseconds only. */
function laterOf(one: Date, other: Date): Date {
  return one > other ? one : other;
}

function keyOf({ claim }: Settlement): SpanAttributes {
  return {
    'waybill.organization.id': claim.organizationId,
    'waybill.mode': claim.mode,
    'waybill.email.id': claim.emailId,
    'waybill.recipient.position': claim.position,
  };
}

function factsOf({ outcomes: [{ outcome }] }: Settlement): SpanAttributes {
  const smtp = 'smtp' in outcome ? outcome.smtp : undefined;
  return {
    'waybill.delivery.outcome': outcome.kind,
    'server.address': smtp?.mxHost,
    'waybill.smtp.code': smtp?.code,
    'waybill.smtp.phase': smtp?.phase,
    'waybill.smtp.tls': smtp?.tls,
  };
}

/** Reports committed results to the counters, the log and the traces. */
@Injectable()
export class DeliveryReport {
  constructor(
    private readonly metrics: DeliveryMetrics,
    private readonly log: DeliveryLog,
    private readonly traces: DeliveryTraces,
    private readonly sessions: TlsSessionCounts,
  ) {}

  /** @param outdated how many more were too late */
  settled(taken: readonly Settlement[], outdated: number): void {
    this.metrics.settled(taken, outdated);
    this.log.settled(taken);
    this.traces.settled(taken);
    this.sessions.settled(taken);
  }

  /** A result that the database refuses: what of it was kept. */
  salvaged(kept: Salvage): void {
    this.metrics.salvaged(kept);
  }
}
