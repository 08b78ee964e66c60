import { useMemo } from 'react';
import type { Domain } from '../../api/types';
import { Chart } from '../../parts/chart';
import { count, words } from '../../parts/format';
import { Card } from '../../parts/page';

/** Recipients a day by the day since the first send (docs/operations/reputation.md, "Warm-up of new domains"). */
const STEPS: readonly (readonly [day: number, limit: number])[] = [
  ...[20, 40, 80, 160, 320, 640].map((limit, index) => [index + 1, limit] as const),
  ...[
    [7, 1_280],
    [14, 2_560],
    [21, 5_120],
    [28, 10_000],
  ].map(([day = 0, limit = 0]) => [day, limit] as const),
];
const LAST_DAY = 34;
const DAY_MS = 86_400_000;

const dayOf = (iso: string): string => `Day ${Math.round(new Date(iso).getTime() / DAY_MS) + 1}`;

const limitOn = (day: number): number => STEPS.findLast(([from]) => from <= day)?.[1] ?? 0;

/** The plan of a domain that warms up, and where in it the domain is. */
export function WarmUp({ domain }: { domain: Pick<Domain, 'warming_status' | 'warming_current_limit'> }) {
  const { warming_status: status, warming_current_limit: limit } = domain;
  const isWarming = status === 'warming' || status === 'paused';
  return (
    <Card title="Warm-up">
      <p>
        <strong>{words(status)}</strong>
        {limit !== null && <>: up to {count(limit)} recipients a day.</>}
      </p>
      <p className="hint">
        {status === 'paused' && 'Paused because of bounces or complaints. It continues after a day with good figures. '}
        {status === 'not_started' && 'It starts with the first email. '}
        {status === 'warmed'
          ? 'There is no limit anymore.'
          : 'Mailbox providers trust a new domain only gradually, so its daily limit grows for 34 days.'}
      </p>
      {isWarming && limit !== null && <Plan limit={limit} />}
    </Card>
  );
}

function Plan({ limit }: { limit: number }) {
  const { times, series } = useMemo(() => {
    const days = Array.from({ length: LAST_DAY }, (_, index) => index + 1);
    // Day 1 of the plan stands at 1970-01-01: only the distance counts.
    return {
      times: days.map((day) => new Date((day - 1) * DAY_MS).toISOString()),
      series: [
        { name: 'Daily limit', color: '--chart-1', values: days.map(limitOn) },
        { name: 'Now', color: '--chart-4', values: days.map(() => limit), dash: [6, 4] },
      ],
    };
  }, [limit]);
  return (
    <Chart
      summary={`The limit grows from 20 to 10,000 recipients a day; now it is ${count(limit)}.`}
      times={times}
      series={series}
      formatTime={dayOf}
      formatTick={dayOf}
    />
  );
}
