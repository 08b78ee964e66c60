import type { Period } from '../stat-delta';
import { fourDecimals, type Reputation, share } from '../reputation';
import type { Sums } from '../stats.service';
import type { ProviderSums, Totals } from '../stats-report.service';
import type { DomainStatsDto, HourStatsDto, PeriodDto, ProviderStatsDto, ReputationDto, StatsDto } from './stats.dto';

export function toPeriodDto({ from, to }: Period): PeriodDto {
  return { from: from.toISOString(), to: to.toISOString() };
}

/**
 * Adds rates, rounded to four decimals: deliveries and bounces of the accepted recipients, opens and clicks of the
 * delivered ones.
 */
export function toStatsDto(totals: Totals): StatsDto {
  const { queued, sending, delivered, failed, opens, clicks } = totals;
  return {
    ...countsOf(totals),
    ...ratesOf(totals),
    ...{ queued, sending, failed },
    openRate: rate(opens, delivered),
    clickRate: rate(clicks, delivered),
  };
}

/** Counts and rates of a domain, without open recipients. */
export function toDomainStatsDto({ domain, ...sums }: Sums & { domain: string }): DomainStatsDto {
  return { domain, ...countsOf(sums), ...ratesOf(sums) };
}

/**
 * Deferrals are counted by attempt, so their rate relates to attempts; bounces unrelated to the sender are left out of
 * the bounce rate.
 */
export function toProviderStatsDto({ provider, excused, ...sums }: ProviderSums): ProviderStatsDto {
  const { accepted, delivered, deferred, bounced, complaints } = sums;
  const ended = accepted + bounced;
  return {
    provider,
    ...{ accepted, delivered, deferred, bounced, complaints },
    deferralRate: rate(deferred, deferred + ended),
    bounceRate: rate(bounced - excused, ended),
    complaintRate: rate(complaints, delivered),
  };
}

/** `timestamp` repeats `hour`, as the contract has both. */
export function toHourStatsDto({ hour, ...sums }: Sums & { hour: Date }): HourStatsDto {
  return { hour: hour.toISOString(), timestamp: hour.toISOString(), ...countsOf(sums) };
}

export function toReputationDto(
  organizationId: string,
  { domainId, recommendations, ...metrics }: Reputation & { domainId: string | undefined },
): ReputationDto {
  return {
    organizationId,
    ...(domainId !== undefined && { domainId }),
    metrics,
    recommendations: [...recommendations],
  };
}

function countsOf({ accepted: total, sent, delivered, bounced, opens, clicks }: Sums) {
  return { total, sent, delivered, bounced, opens, clicks };
}

function ratesOf({ accepted, delivered, bounced }: Sums) {
  return { deliveryRate: rate(delivered, accepted), bounceRate: rate(bounced, accepted) };
}

function rate(part: number, whole: number): number {
  return fourDecimals(share(part, whole));
}
