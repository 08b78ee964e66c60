import { SECOND } from '../../../common/clock';
import { BUILT_IN_CLASSIFIER } from '../../policy/replies/classify-reply';
import { rejection } from '../../policy/transmission-result';
import type { DeliveryOutcome, SmtpFacts } from '../../ports/outcome';
import type { SmtpPhase } from '../../ports/attempt-trace';

/** Host part of the addresses with a meaning, unless configured otherwise. */
export const DEFAULT_SIMULATOR_DOMAIN = 'simulator.waybill.test';

/**
 * Far shorter than the schedule of live mail, so that a developer sees a deferral become a delivery, and long enough to see
 * both deferrals apart.
 */
const SIMULATED_RETRY_MS = 2 * SECOND;

const DEFERRALS = 2;

/** What a recipient does after a delivery. */
export type FollowUp = 'spam_report' | 'opened' | 'clicked';

export interface SimulatedDelivery {
  /** Envelope address. */
  readonly recipient: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  readonly now: Date;
  /** `DEFAULT_SIMULATOR_DOMAIN` when absent. */
  readonly simulatorDomain?: string;
}

export interface SimulatedOutcome {
  readonly outcome: DeliveryOutcome;
  /** What the rule of the simulated refusal calls for; absent without a refusal. */
  readonly action?: string;
  /** Events to record after the outcome, in order. */
  readonly followUps: readonly FollowUp[];
}

/** Decides a delivery in test mode by its address. Nothing is sent, and the same input has the same outcome. */
export function simulate(delivery: SimulatedDelivery): SimulatedOutcome {
  const domain = (delivery.simulatorDomain ?? DEFAULT_SIMULATOR_DOMAIN).toLowerCase();
  const script = SCRIPTS.get(scriptName(delivery.recipient, domain)) ?? { outcome: delivered };
  const outcome = script.outcome(delivery, domain);
  return { ...withRule(outcome), followUps: script.followUps ?? [] };
}

/** A refusal has the rule that it matches, like one of a server. */
function withRule(outcome: DeliveryOutcome): Pick<SimulatedOutcome, 'outcome' | 'action'> {
  if ((outcome.kind !== 'bounced' && outcome.kind !== 'deferred') || !outcome.smtp) return { outcome };
  const { smtp, classification } = rejection(outcome.smtp, BUILT_IN_CLASSIFIER);
  return { outcome: { ...outcome, smtp }, action: classification.action };
}

interface Script {
  readonly outcome: (delivery: SimulatedDelivery, domain: string) => DeliveryOutcome;
  readonly followUps?: readonly FollowUp[];
}

const SCRIPTS: ReadonlyMap<string, Script> = new Map<string, Script>([
  ['bounced', { outcome: bounced }],
  ['soft-bounced', { outcome: deferredTwice }],
  ['suppressed', { outcome: blocked }],
  ['complained', { outcome: delivered, followUps: ['spam_report'] }],
  ['opened', { outcome: delivered, followUps: ['opened'] }],
  ['clicked', { outcome: delivered, followUps: ['clicked'] }],
]);

/** The local part before any `+`; empty for an address of another domain. */
function scriptName(recipient: string, domain: string): string {
  const at = recipient.lastIndexOf('@');
  if (recipient.slice(at + 1).toLowerCase() !== domain) return '';
  return (recipient.slice(0, Math.max(0, at)).split('+')[0] ?? '').toLowerCase();
}

function blocked(): DeliveryOutcome {
  return { kind: 'failed', reason: 'blocked', detail: 'simulated suppression' };
}

function delivered(_delivery: SimulatedDelivery, domain: string): DeliveryOutcome {
  return { kind: 'delivered', smtp: facts(domain, 'final', 250, '2.0.0', '2.0.0 OK: accepted by the simulator') };
}

function bounced({ recipient }: SimulatedDelivery, domain: string): DeliveryOutcome {
  const smtp = facts(domain, 'rcpt', 550, '5.1.1', `5.1.1 <${recipient}>: Recipient address rejected: User unknown`);
  const explanation = 'There is no mailbox of that name (simulated).';
  return { kind: 'bounced', bounceType: 'hard', suppress: true, reason: 'bad-mailbox', explanation, smtp };
}

function deferredTwice(delivery: SimulatedDelivery, domain: string): DeliveryOutcome {
  if (delivery.attempt > DEFERRALS) return delivered(delivery, domain);
  const smtp = facts(domain, 'rcpt', 451, '4.2.0', '4.2.0 Mailbox temporarily unavailable, try again later');
  const nextAttemptAt = new Date(delivery.now.getTime() + SIMULATED_RETRY_MS);
  return { kind: 'deferred', nextAttemptAt, reason: 'temporary', smtp };
}

function facts(domain: string, phase: SmtpPhase, code: number, enhancedCode: string, text: string): SmtpFacts {
  return { code, enhancedCode, response: `${code} ${text}`.slice(0, 500), mxHost: `mx.${domain}`, tls: true, phase };
}
