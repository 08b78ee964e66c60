/** One metric as Prometheus reads it (https://prometheus.io/docs/instrumenting/exposition_formats/). */
export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: { readonly name: string; readonly labels: Record<string, string>; readonly value: number }[];
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)",?/g;

/** @throws Error for a line that is none of the format, or that belongs to no metric */
export function parseExposition(text: string): Family[] {
  const families: Family[] = [];
  for (const line of text.split('\n')) {
    const [, keyword, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (keyword === 'HELP') families.push({ name, help: rest, type: '', samples: [] });
    const last = families.at(-1);
    if (keyword === 'TYPE') {
      if (last?.name !== name) throw new Error(`A type without help: ${line}`);
      families[families.length - 1] = { ...last, type: rest };
    }
    if (keyword !== undefined || line.trim() === '') continue;
    const [, sample = '', labels = '', value] = SAMPLE.exec(line) ?? [];
    if (!last || !sample.startsWith(last.name)) throw new Error(`Belongs to no metric: ${line}`);
    const named = Object.fromEntries([...labels.matchAll(LABEL)].map(([, label, of]) => [label, of] as const));
    last.samples.push({ name: sample, labels: named, value: Number(value) });
  }
  return families;
}

/** Units that are not base units, and what to use (the list of `promtool check metrics`). */
const OTHER_UNITS: Readonly<Record<string, string>> = {
  milliseconds: 'seconds',
  microseconds: 'seconds',
  nanoseconds: 'seconds',
  minutes: 'seconds',
  hours: 'seconds',
  days: 'seconds',
  kilobytes: 'bytes',
  megabytes: 'bytes',
  kibibytes: 'bytes',
  mebibytes: 'bytes',
  bits: 'bytes',
  percent: 'ratio',
  fahrenheit: 'celsius',
  milliamperes: 'amperes',
};
const ABBREVIATED = ['s', 'ms', 'us', 'ns', 'sec', 'b', 'kb', 'mb', 'gb', 'tb', 'pb', 'm', 'h', 'd'];
const TYPES = ['counter', 'gauge', 'histogram', 'summary'];

/**
 * What `promtool check metrics` (the linter of client_golang, `promlint`) would say of a process's metrics, and what a
 * scrape would: names that Prometheus gives itself, and the same name twice.
 */
export function problemsOf(families: readonly Family[]): string[] {
  const seen = new Set<string>();
  return families.flatMap((family) => {
    const twice = seen.has(family.name) ? ['is there twice'] : [];
    seen.add(family.name);
    return [...twice, ...nameProblems(family), ...typeProblems(family), ...labelProblems(family)].map(
      (problem) => `${family.name} ${problem}`,
    );
  });
}

function* nameProblems({ name, help, type }: Family): Generator<string> {
  const parts = name.split('_');
  if (help.trim() === '') yield 'has no help text';
  if (/[A-Z]/.test(name)) yield 'is not in snake_case';
  if (name.includes(':')) yield 'contains a colon, as recording rules do';
  for (const part of parts) {
    const base = OTHER_UNITS[part];
    if (base !== undefined) yield `is in ${part}: use ${base}`;
    if (ABBREVIATED.includes(part)) yield `has the abbreviated unit ${part}`;
  }
  for (const each of TYPES) if (parts.includes(each)) yield `has its type ${each} in its name`;
  if (type === '') yield 'has no type';
}

function* typeProblems({ name, type, samples }: Family): Generator<string> {
  if (type === 'counter' && !name.endsWith('_total')) yield 'is a counter and does not end in _total';
  if (type !== 'counter' && name.endsWith('_total')) yield 'ends in _total and is no counter';
  if (type !== 'histogram' && type !== 'summary' && /_(count|sum)$/.test(name)) yield 'ends as a part of a histogram';
  if (type !== 'histogram' && name.endsWith('_bucket')) yield 'ends as a part of a histogram';
  if (type === 'counter' && samples.some(({ value }) => !(value >= 0))) yield 'is a counter below 0';
  if (samples.some(({ value }) => Number.isNaN(value))) yield 'is not a number';
}

/** `job` and `instance` are the target's: a metric's own would be renamed to `exported_…`. */
function* labelProblems({ type, samples }: Family): Generator<string> {
  for (const label of new Set(samples.flatMap(({ labels }) => Object.keys(labels)))) {
    if (/[A-Z]/.test(label)) yield `has the label ${label}, which is not in snake_case`;
    if (label === 'job' || label === 'instance') yield `has the label ${label}, which is Prometheus's own`;
    if (label === 'le' && type !== 'histogram') yield 'has the label le and is no histogram';
    if (label === 'quantile' && type !== 'summary') yield 'has the label quantile and is no summary';
  }
}
