import { Injectable } from '@nestjs/common';
import { SECOND } from '../../common/clock';
import { Metrics } from '../../common/metrics/metrics';
import { REPLY_CLASSES } from '../policy/replies/reply-rule';
import type { DeliveryOutcome, RecordedOutcome, Settlement } from '../ports/outcome';
import { TLS_RESULTS, TLS_VERSIONS, tlsStateOf } from '../tls/tls-session-counts';
import { TLS_POLICIES } from '../ports/attempt-trace';

type Ended = DeliveryOutcome['kind'] & ('sent' | 'delivered' | 'deferred' | 'unknown' | 'bounced' | 'failed');

const OUTCOMES: readonly Ended[] = ['sent', 'delivered', 'deferred', 'unknown', 'bounced', 'failed'];
/** From what a mail takes over a fast connection to the four days after which it is given up. */
const BUCKETS_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400, 345_600];

/**
 * What was kept of a result that the database refuses. `reduced`: all but the details. `queue`: the next attempt, without its
 * event. `held`: nothing; its delivery is put aside.
 */
const SALVAGES = ['reduced', 'queue', 'held'] as const;

export type Salvage = (typeof SALVAGES)[number];

class OutcomeCounters {
  private readonly attempts;
  private readonly failures;

  constructor(metrics: Metrics, prefix: '' | 'live_', what: string) {
    this.attempts = metrics.counter({
      name: `${prefix}deliveries_total`,
      help: `${what}, by outcome`,
      labels: { outcome: OUTCOMES },
    });
    this.failures = metrics.counter({
      name: `${prefix}delivery_failures_total`,
      help: `${what}, that did not succeed, by what the reply or the failure was about`,
      labels: { outcome: ['deferred', 'bounced'], class: REPLY_CLASSES },
    });
  }

  count(outcome: string, failure: string | undefined): void {
    this.attempts.inc({ outcome });
    if (failure !== undefined) this.failures.inc({ outcome, class: failure });
  }
}

/** What has become of deliveries, counted when it is committed. */
@Injectable()
export class DeliveryMetrics {
  private readonly all: OutcomeCounters;
  /** For alerts: the simulator's outcomes say nothing about receivers. */
  private readonly live: OutcomeCounters;
  private readonly refusals;
  private readonly tls;
  private readonly duration;
  private readonly outdated;
  private readonly unstored;

  constructor(metrics: Metrics) {
    this.all = new OutcomeCounters(metrics, '', 'Delivery attempts, live and simulated');
    this.live = new OutcomeCounters(metrics, 'live_', 'Delivery attempts of live mail');
    this.refusals = metrics.counter({
      name: 'refusals_total',
      help: 'Refusals of other mail servers by the rule that they fell under',
      labels: ['rule', 'class'],
    });
    this.tls = metrics.counter({
      name: 'tls_attempts_total',
      help: 'Attempts by what was demanded of the encryption, what it was, and whether it proved the host',
      labels: { policy: TLS_POLICIES, version: TLS_VERSIONS, result: TLS_RESULTS },
    });
    this.duration = metrics.histogram({
      name: 'delivery_duration_seconds',
      help: 'Time from acceptance, or from when a scheduled email was due, until the next hop had taken it',
      labels: { mode: ['live', 'test'] },
      buckets: BUCKETS_SECONDS,
    });
    this.outdated = metrics.counter({
      name: 'outdated_results_total',
      help: 'Results whose claim had passed to another worker',
    });
    this.unstored = metrics.counter({
      name: 'unstored_results_total',
      help: 'Results that the database refused, by what was kept of them',
      labels: { kept: SALVAGES },
    });
  }

  salvaged(kept: Salvage): void {
    this.unstored.inc({ kept });
  }

  /** @param outdated how many more were too late */
  settled(taken: readonly Settlement[], outdated: number): void {
    this.outdated.inc(outdated);
    for (const { claim, outcomes } of taken) {
      const [{ outcome, occurredAt }] = outcomes;
      const failure = failureClassOf(outcome);
      this.countRefusal(outcomes[0]);
      this.countTls(outcomes[0]);
      this.all.count(outcome.kind, failure);
      if (claim.mode === 'live') this.live.count(outcome.kind, failure);
      if (failure !== undefined) continue;
      this.duration.observe({ mode: claim.mode }, secondsBetween(claim.firstDueAt, occurredAt));
    }
  }

  private countTls(recorded: RecordedOutcome): void {
    const state = tlsStateOf(recorded);
    if (state !== undefined) this.tls.inc({ ...state });
  }

  /** Of servers: those of the simulator do not count. */
  private countRefusal({ outcome, source }: RecordedOutcome): void {
    if (source === 'simulator') return;
    const smtp = 'smtp' in outcome ? outcome.smtp : undefined;
    if (smtp?.ruleId === undefined || smtp.class === undefined) return;
    this.refusals.inc({ rule: smtp.ruleId, class: smtp.class });
  }
}

/** Clocks of two processes agree within milliseconds only. */
function secondsBetween(from: Date, to: Date): number {
  return Math.max(0, to.getTime() - from.getTime()) / SECOND;
}

/** What a failure was about, in few words: the class of the reply, or why there was none. Undefined: it was none. */
export function failureClassOf(outcome: DeliveryOutcome): string | undefined {
  switch (outcome.kind) {
    case 'deferred':
    case 'unknown':
      return outcome.smtp?.class ?? labelOf(outcome.reason);
    case 'bounced':
      return outcome.smtp?.class ?? labelOf(outcome.lastReason ?? outcome.reason);
    case 'failed':
      return labelOf(outcome.reason);
    case 'sending':
    case 'sent':
    case 'delivered':
    case 'spam_report':
    case 'unsubscribed':
    case 'opened':
    case 'clicked':
      return undefined;
  }
}

/** Causes are fixed words, some of them two: `retries exhausted`. */
function labelOf(reason: string): string {
  return reason.replace(/[\s_]+/g, '-');
}
