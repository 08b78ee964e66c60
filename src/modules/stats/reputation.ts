/** Recipients of live mail within the window that a reputation is computed from. */
export interface ReputationCounts {
  readonly accepted: number;
  readonly delivered: number;
  /** Those that count against the sender. */
  readonly bounced: number;
  readonly complaints: number;
}

export const HEALTH_STATUSES = ['excellent', 'good', 'fair', 'poor', 'critical'] as const;

export type HealthStatus = (typeof HEALTH_STATUSES)[number];

export interface Reputation {
  /** 0 to 100. */
  readonly overallScore: number;
  /** Fractions of 1, four decimals: bounced and delivered of the recipients, complaints of the delivered. */
  readonly bounceRate: number;
  readonly deliveryRate: number;
  readonly complaintRate: number;
  readonly healthStatus: HealthStatus;
  /** One sentence for each penalty, the largest first. */
  readonly recommendations: readonly string[];
}

/** The period of a reputation. */
export const REPUTATION_DAYS = 30;
/** Fewer recipients than these are not significant. */
export const MIN_RECIPIENTS = 50;

interface Rule {
  readonly rate: 'bounceRate' | 'complaintRate' | 'deliveryRate';
  /** No penalty up to this rate, */
  readonly free: number;
  /** and the full penalty of `points` from this rate on. */
  readonly worst: number;
  readonly points: number;
  readonly advise: (rate: string, free: string) => string;
}

const RULES: readonly Rule[] = [
  {
    rate: 'bounceRate',
    free: 0.02,
    worst: 0.1,
    points: 40,
    advise: (rate, free) =>
      `${rate} of the recipients of the last ${REPUTATION_DAYS} days bounced; up to ${free} is normal. ` +
      'Remove the addresses that bounced, and confirm new ones with a first mail before sending more.',
  },
  {
    rate: 'complaintRate',
    free: 0.000_5,
    worst: 0.005,
    points: 50,
    advise: (rate, free) =>
      `${rate} of the mail delivered in the last ${REPUTATION_DAYS} days was reported as spam; stay below ${free}. ` +
      'Send only to people who asked for the mail, and give every mail a visible way to unsubscribe.',
  },
  {
    rate: 'deliveryRate',
    free: 0.95,
    worst: 0.75,
    points: 20,
    advise: (rate, free) =>
      `Only ${rate} of the recipients of the last ${REPUTATION_DAYS} days have received their mail; ${free} is usual. ` +
      'Look at the deferred and failed emails for the reason that the receiving servers give, and check SPF and DKIM.',
  },
];

const HEALTH: readonly { readonly from: number; readonly status: HealthStatus }[] = [
  { from: 90, status: 'excellent' },
  { from: 75, status: 'good' },
  { from: 50, status: 'fair' },
  { from: 25, status: 'poor' },
];

/**
 * An estimate of a sender's reputation at receivers: 100 less a penalty for bounces (up to 40), complaints (up to 50) and
 * mail that does not arrive (up to 20).
 */
export function reputationOf(counts: ReputationCounts): Reputation {
  const rates = ratesOf(counts);
  const hasEnough = counts.accepted >= MIN_RECIPIENTS;
  const costs = hasEnough ? RULES.map((rule) => ({ rule, cost: penalty(rates[rule.rate], rule) })) : [];
  const overallScore = Math.max(0, Math.round(100 - costs.reduce((sum, { cost }) => sum + cost, 0)));
  const advice = costs
    .filter(({ cost }) => cost > 0)
    .sort((one, other) => other.cost - one.cost)
    .map(({ rule }) => rule.advise(percent(rates[rule.rate]), percent(rule.free)));
  return {
    bounceRate: fourDecimals(rates.bounceRate),
    deliveryRate: fourDecimals(rates.deliveryRate),
    complaintRate: fourDecimals(rates.complaintRate),
    overallScore,
    healthStatus: healthOf(overallScore),
    recommendations: hasEnough ? advice : [tooFew(counts.accepted)],
  };
}

/** The status for a reputation score. */
export function healthOf(score: number): HealthStatus {
  return HEALTH.find(({ from }) => score >= from)?.status ?? 'critical';
}

function ratesOf({ accepted, delivered, bounced, complaints }: ReputationCounts) {
  return {
    bounceRate: share(bounced, accepted),
    deliveryRate: share(delivered, accepted),
    complaintRate: share(complaints, delivered),
  };
}

function penalty(rate: number, { free, worst, points }: Rule): number {
  return Math.min(1, Math.max(0, (rate - free) / (worst - free))) * points;
}

function percent(rate: number): string {
  return `${Number((rate * 100).toFixed(2))} %`;
}

function tooFew(recipients: number): string {
  return (
    `Only ${recipients} ${recipients === 1 ? 'recipient' : 'recipients'} in the last ${REPUTATION_DAYS} days: too few to judge. ` +
    `The score means something from ${MIN_RECIPIENTS} recipients on.`
  );
}

/** `part / whole`, at most 1: mail accepted before a period may end within it. 0 when `whole` is 0. */
export function share(part: number, whole: number): number {
  return whole > 0 ? Math.min(1, part / whole) : 0;
}

/** A rate rounded to four decimals. */
export function fourDecimals(rate: number): number {
  return Math.round(rate * 10_000) / 10_000;
}
