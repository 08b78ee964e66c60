import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load, loadAll } from 'js-yaml';

const ROOT = join(__dirname, '../../..');

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string };
}

const FORMER_NAMES = /^### Metrics under new names$[^]*?(?=^##)/m;

interface Target {
  readonly refId: string;
  readonly expr: string;
  readonly legendFormat?: string;
}

interface Panel {
  readonly title: string;
  readonly targets?: readonly Target[];
  readonly fieldConfig?: {
    readonly defaults: { readonly unit?: string; readonly min?: number };
    readonly overrides: readonly {
      readonly matcher: { readonly id: string; readonly options: string };
      readonly properties: readonly { readonly id: string; readonly value: string }[];
    }[];
  };
}

interface Board {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

/** What a panel shows: one of its expressions, how it is named, and its unit. */
export interface Series {
  readonly where: string;
  readonly expr: string;
  readonly legend: string;
  readonly unit: string;
  readonly min: number | undefined;
}

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

export function readAlerts(): Alert[] {
  const { groups } = load(read('deploy/prometheus/rules.yaml')) as { groups: { rules: Alert[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

/** The metrics that the autoscaler of the workers reads. */
function readScaling(): [where: string, query: string][] {
  const file = 'deploy/kubernetes/base/worker.yaml';
  const scalers = loadAll(read(file)) as { spec: { metrics?: { external?: { metric: { name: string } } }[] } }[];
  const names = scalers
    .flatMap(({ spec }) => spec.metrics ?? [])
    .flatMap(({ external }) => external?.metric.name ?? []);
  return names.map((name) => [file, name]);
}

export function readBoards(): (Board & { readonly file: string })[] {
  const files = readdirSync(join(ROOT, 'deploy/grafana')).filter((file) => file.endsWith('.json'));
  return files.map((file) => ({ file, ...(JSON.parse(read(`deploy/grafana/${file}`)) as Board) }));
}

export function readSeries(): Series[] {
  return readBoards().flatMap(({ file, panels }) =>
    panels.flatMap((panel) => (panel.targets ?? []).map((target) => seriesOf(file, panel, target))),
  );
}

function seriesOf(file: string, { title, fieldConfig }: Panel, { refId, expr, legendFormat = '' }: Target): Series {
  const { defaults = {}, overrides = [] } = fieldConfig ?? {};
  const own = overrides.find(({ matcher }) => matcher.id === 'byFrameRefID' && matcher.options === refId);
  const unit = own?.properties.find(({ id }) => id === 'unit')?.value ?? defaults.unit ?? '';
  return { where: `${file}, ${title}`, expr, legend: legendFormat, unit, min: defaults.min };
}

/** Every expression of alerts, dashboards and autoscalers, with where it stands. */
export function readQueries(): [where: string, query: string][] {
  const ofBoards = readSeries().map(({ where, expr }): [string, string] => [where, expr]);
  const ofVariables = readBoards().flatMap(({ file, templating }) =>
    templating.list.flatMap(({ name, definition }): [string, string][] => {
      const [, metric = definition ?? '', label = 'instance'] =
        /^label_values\((.*), *(\w+)\)$/.exec(definition ?? '') ?? [];
      return definition === undefined ? [] : [[`${file}, $${name}`, `count by (${label}) (${metric})`]];
    }),
  );
  return [
    ...readAlerts().map(({ alert, expr }): [string, string] => [alert, expr]),
    ...ofBoards,
    ...ofVariables,
    ...readScaling(),
  ];
}

/** Sections of the page by their heading. */
export function readRunbooks(): Map<string, string> {
  const [, ...sections] = read('docs/runbooks.md').split(/^## /m);
  return new Map(
    sections.map((section) => [section.slice(0, section.indexOf('\n')), section.slice(section.indexOf('\n'))]),
  );
}

/** Names under which the samples of a metric are stored. */
export function partsOf(name: string, type: string): string[] {
  return type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
}

function pagesOfOperations(): string[] {
  const folder = 'docs/operations';
  const files = readdirSync(join(ROOT, folder)).map((file) => `${folder}/${file}`);
  return ['docs/operations.md', ...files];
}

/** Jobs that the pages for operators name by the label of a metric. */
export function jobsNamedInDocs(): string[] {
  const pages = [...pagesOfOperations(), 'docs/runbooks.md', 'docs/production.md', 'docs/scaling.md'];
  return pages.flatMap((page) => [...read(page).matchAll(/job_name="([^"]+)"/g)].map(([, job = '']) => job));
}

/** `waybill_tenant` is a role of the database. Checks the pages with metrics for operators, except the table of former names. */
export function metricsNamedInDocs(): { page: string; metric: string }[] {
  const others = ['docs/runbooks.md', 'docs/production.md', 'docs/reliability.md', 'docs/scaling.md'];
  const pages = [...pagesOfOperations(), ...others];
  return pages.flatMap((page) =>
    [
      ...read(page)
        .replace(FORMER_NAMES, '')
        .matchAll(/\bwaybill_(?!tenant\b)[a-z_]+[a-z]/g),
    ].map(([metric]) => ({ page, metric })),
  );
}
