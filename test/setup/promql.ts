import { parser } from '@prometheus-io/lezer-promql';

type SyntaxNode = ReturnType<typeof parser.parse>['topNode'];

/** One selector of an expression: `name{label="value"}`. */
export interface Selector {
  readonly metric: string;
  readonly matchers: { readonly label: string; readonly operator: string; readonly value: string }[];
}

export interface Expression {
  readonly selectors: Selector[];
  /** Of `by (…)`, `on (…)` and the like. */
  readonly grouping: string[];
}

/** Grafana replaces these before Prometheus reads the expression. */
const VARIABLES: readonly [RegExp, string][] = [
  [/\$__rate_interval|\$__interval/g, '5m'],
  [/\$instance/g, '.*'],
];

/**
 * The metrics and labels of an expression, by Prometheus's own grammar.
 * @throws Error where it is no PromQL
 */
export function readExpression(text: string): Expression {
  const source = VARIABLES.reduce((all, [name, value]) => all.replace(name, value), text);
  const expression: Expression = { selectors: [], grouping: [] };
  parser.parse(source).iterate({
    enter: ({ type, node, from, to }) => {
      if (type.isError) throw new Error(`No PromQL near "${source.slice(Math.max(0, from - 20), to + 20)}": ${source}`);
      if (type.name === 'VectorSelector') expression.selectors.push(selectorOf(node, source));
      if (type.name === 'GroupingLabels') expression.grouping.push(...labelsOf(node, source));
    },
  });
  return expression;
}

const textOf = ({ from, to }: SyntaxNode, source: string) => source.slice(from, to);
const labelsOf = (node: SyntaxNode, source: string) =>
  node.getChildren('LabelName').map((label) => textOf(label, source));

function selectorOf(node: SyntaxNode, source: string): Selector {
  const metric = node.getChild('Identifier');
  const matchers = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? [];
  return {
    metric: metric ? textOf(metric, source) : '',
    matchers: matchers.map((matcher) => {
      const [, label = '', operator = '', value = ''] =
        /^\s*(\w+)\s*(=~|!~|!=|=)\s*["'](.*)["']\s*$/.exec(textOf(matcher, source)) ?? [];
      return { label, operator, value };
    }),
  };
}
