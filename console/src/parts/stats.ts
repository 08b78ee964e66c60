import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { get } from '../api/client';
import { slowing } from '../api/query-client';
import type { Data, StatsByDomain, StatsByHour, StatsSummary } from '../api/types';
import type { Series } from './chart';
import { HOUR_MS, inSteps, lastHours, type Period, weeksOf } from './status-range';
import { useNow } from './text';

/** How often figures are loaded again. */
export const FRESH = slowing(30_000, 120_000);

/** The period of so many hours that ends with the present one: another when the next hour begins. */
export function usePeriod(hours: number): Period {
  const now = useNow(HOUR_MS);
  return useMemo(() => lastHours(hours, now), [hours, now]);
}

export function useStats({ from, to }: Period, domainId = '', enabled = true) {
  return useQuery({
    queryKey: ['stats', from, to, domainId],
    queryFn: () => get<Data<StatsSummary>>('/v1/stats', { start_date: from, end_date: to, domain_id: domainId }),
    placeholderData: keepPreviousData,
    refetchInterval: FRESH,
    enabled,
  });
}

/** The figures of each domain that has sent in the period. */
export function useDomainStats({ from, to }: Period, enabled = true) {
  return useQuery({
    queryKey: ['domain-stats', from, to],
    queryFn: () => get<Data<StatsByDomain>>('/v1/stats/domains', { start_date: from, end_date: to }),
    placeholderData: keepPreviousData,
    refetchInterval: FRESH,
    enabled,
  });
}

/** Every hour of the period, however long. */
export function useHours(period: Period, domainId = '', enabled = true) {
  return useQuery({
    queryKey: ['hours', period.from, period.to, domainId],
    queryFn: async () => {
      const answers = await Promise.all(
        weeksOf(period).map(({ from, to }) =>
          get<Data<StatsByHour>>('/v1/stats/hourly', { start_date: from, end_date: to, domain_id: domainId }),
        ),
      );
      return answers.flatMap(({ data }) => data.hourly);
    },
    placeholderData: keepPreviousData,
    refetchInterval: FRESH,
    enabled,
  });
}

/** The four lines of the usual chart, and the steps that a period begins or ends in. */
export function useSeries(hours: StatsByHour['hourly'] | undefined, step: number) {
  return useMemo(() => {
    const steps = inSteps(hours ?? [], step);
    const series: Series[] = [
      { name: 'Accepted', color: '--chart-1', values: steps.map(({ total }) => total) },
      { name: 'Delivered', color: '--chart-2', values: steps.map(({ delivered }) => delivered), dash: [6, 3] },
      { name: 'Bounced', color: '--chart-3', values: steps.map(({ bounced }) => bounced), dash: [2, 2] },
      { name: 'Opened', color: '--chart-4', values: steps.map(({ opens }) => opens), dash: [8, 3, 2, 3] },
    ];
    const partial = new Set(steps.filter(({ hours: counted }) => counted < step).map(({ hour }) => hour));
    return { times: steps.map(({ hour }) => hour), series, partial };
  }, [hours, step]);
}
