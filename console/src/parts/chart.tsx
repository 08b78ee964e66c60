import { useEffect, useId, useRef, useState, useSyncExternalStore } from 'react';
import type uPlot from 'uplot';
import { isSpiky, utcTicks } from './chart-scale';
import { Segmented } from './field';
import { count, utcMoment } from './format';

export interface Series {
  readonly name: string;
  readonly values: readonly number[];
  /** A custom property of the tokens, like `--chart-1`. */
  readonly color: string;
  readonly dash?: readonly number[];
}

interface ChartProps {
  /** A sentence that screen readers read instead of the picture. */
  readonly summary: string;
  /** ISO timestamps. */
  readonly times: readonly string[];
  readonly series: readonly Series[];
  /** Those whose figures are not whole. */
  readonly partial?: ReadonlySet<string>;
  /** Dates in UTC unless it says otherwise. */
  readonly formatTime?: (iso: string) => string;
  /** Below the picture, where a date would say nothing. */
  readonly formatTick?: (iso: string) => string;
}

const HEIGHT = 240;
const SCALES = [
  { value: 'even', label: 'Even' },
  { value: 'log', label: 'Logarithmic' },
];
/** Lines to stand for a chart that is on its way: about as high as it is. */
export const CHART_LINES = 13;

function subscribeToTheme(listener: () => void): () => void {
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  return () => observer.disconnect();
}

/** Lines over time, with the same figures as a table for screen readers and for copying. */
export function Chart({ summary, times, series, partial, formatTime, formatTick }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const [scale, setScale] = useState('even');
  const hasPeak = isSpiky(series.map(({ values }) => values));
  const isLog = hasPeak && scale === 'log';
  // A canvas has the colours that it was drawn with.
  const theme = useSyncExternalStore(subscribeToTheme, () => document.documentElement.dataset.theme);
  useEffect(() => {
    const element = box.current;
    if (!element || times.length === 0) return undefined;
    let plot: uPlot | undefined;
    let gone = false;
    const fit = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT }));
    const draw = (Plot: typeof uPlot) => {
      if (gone) return;
      const data = [times.map((time) => new Date(time).getTime() / 1_000), ...series.map(({ values }) => [...values])];
      const inUtc = (seconds: number) => Plot.tzDate(new Date(seconds * 1_000), 'UTC');
      const plotted = { ...options(element, series, { formatTick, isLog }), tzDate: inUtc };
      plot = new Plot(plotted, data as uPlot.AlignedData, element);
      fit.observe(element);
    };
    // Of a release that is gone it does not come: the table has the figures.
    import('uplot').then(
      ({ default: Plot }) => draw(Plot),
      () => undefined,
    );
    return () => {
      gone = true;
      fit.disconnect();
      plot?.destroy();
    };
  }, [times, series, formatTick, isLog, theme]);
  return (
    <figure className="stack" aria-labelledby={id}>
      {hasPeak && (
        <div className="row">
          <Segmented label="Scale" value={scale} options={SCALES} onChange={setScale} />
          <span className="hint">One value is far above the others: a logarithmic scale shows the others too.</span>
        </div>
      )}
      <ul className="chart-legend">
        {series.map(({ name, color, dash }) => (
          <li key={name}>
            <svg width="20" height="8" aria-hidden="true" focusable="false">
              <line
                x1="0"
                y1="4"
                x2="20"
                y2="4"
                stroke={`var(${color})`}
                strokeWidth="2.5"
                strokeDasharray={dash?.join(' ')}
              />
            </svg>
            {name}
          </li>
        ))}
      </ul>
      <div ref={box} className="chart" aria-hidden="true" />
      <figcaption id={id} className="hint">
        {summary}
      </figcaption>
      <details>
        <summary>The figures as a table</summary>
        <div className="table-wrap">
          <table aria-labelledby={id}>
            <thead>
              <tr>
                <th scope="col">{formatTime ? 'Time' : 'Time (UTC)'}</th>
                {series.map(({ name }) => (
                  <th key={name} scope="col" className="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {times.map((time, index) => (
                <tr key={time}>
                  <th scope="row">
                    <span className="nowrap">{(formatTime ?? utcMoment)(time)}</span>
                    {partial?.has(time) && <span className="soft"> in part</span>}
                  </th>
                  {series.map(({ name, values }) => (
                    <td key={name} className="number">
                      {count(values[index] ?? 0)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}

interface Look {
  readonly formatTick: ChartProps['formatTick'];
  readonly isLog: boolean;
}

/** uPlot's times are in seconds. */
const ticksBy =
  (format: ChartProps['formatTick']) =>
  (_plot: uPlot, ticks: number[], _axis: number, _space: number, step: number): string[] => {
    const times = ticks.map((tick) => new Date(tick * 1_000).toISOString());
    return format ? times.map(format) : utcTicks(times, step);
  };

/** Zero and the powers of ten: as many lines as there is room for. */
const logTicks = (_plot: uPlot, _axis: number, _min: number, max: number): number[] => [
  0,
  ...Array.from({ length: Math.floor(Math.log10(Math.max(1, max))) + 1 }, (_, power) => 10 ** power),
];

function options(element: HTMLElement, series: readonly Series[], { formatTick, isLog }: Look): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string) => style.getPropertyValue(name).trim();
  const axis = {
    stroke: token('--ink-soft'),
    grid: { stroke: token('--line'), width: 1 },
    ticks: { show: false },
    font: `12px ${token('--sans')}`,
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false },
    scales: {
      y: {
        // By the inverse hyperbolic sine: a logarithm that has a place for zero.
        ...(isLog && { distr: 4, asinh: 1 }),
        range: (_plot, _min, max) => [0, Math.max(4, max * 1.08)],
      },
    },
    axes: [
      { ...axis, values: ticksBy(formatTick) },
      {
        ...{ ...axis, size: 52, ...(isLog && { splits: logTicks }) },
        values: (_plot, ticks) => ticks.map((tick) => (Number.isInteger(tick) ? count(tick) : '')),
      },
    ],
    series: [
      {},
      ...series.map(({ name, color, dash }) => ({
        label: name,
        stroke: token(color),
        width: 2,
        points: { show: false },
        ...(dash && { dash: [...dash] }),
      })),
    ],
  };
}
