/** Changes of SQL, one place at a time: pattern and replacement. */
const OPERATORS = [
  [/(?<=\s)<=(?=\s)/g, '<'],
  [/(?<=\s)>=(?=\s)/g, '>'],
  [/(?<=\s)<(?=\s)/g, '<='],
  [/(?<=\s)>(?=\s)/g, '>='],
  [/(?<=\s)=(?=\s)/g, '<>'],
  [/(?<=\s)<>(?=\s)/g, '='],
  [/\band (?:d|k|p)\.\w+ (?:=|<>|<|>|<=|>=) [\w.$]+/g, ''],
  [/(?<=\s)%(?=\s)/g, '/'],
  [/(?<=\s)\/(?=\s)/g, '*'],
  [/(?<=\s)\+(?=\s)/g, '-'],
  [/\bleast\(/g, 'greatest('],
  [/\bfloor\(/g, 'ceil('],
  [/\bwhere exists\b/g, 'where not exists'],
  [/\bfor update skip locked\b/g, ''],
  [/\border by [^\n]+/g, ''],
  [/\bpartition by [\w.]+/g, ''],
  [/\blimit [\w.]+(?:\([^)]*\))?/g, 'limit all'],
  [/\boffset [\w.]+/g, 'offset 0'],
  [/'ready'/g, "'waiting'"],
  [/'claimed'/g, "'ready'"],
  [/\b32\b/g, '1'],
  [/\b10\.0\b/g, '1.0'],
];

/**
 * Every text with one change inside of its template literals.
 * @returns `{text, line, from, to}` each
 */
export function sqlMutantsOf(source) {
  const literals = [...source.matchAll(/`[^`]*`/g)].map(({ index, 0: literal }) => [index, index + literal.length]);
  const isSql = (at) => literals.some(([start, end]) => at > start && at < end);
  return OPERATORS.flatMap(([pattern, to]) =>
    [...source.matchAll(pattern)]
      .filter(({ index }) => isSql(index))
      .map(({ index, 0: from }) => ({
        text: source.slice(0, index) + to + source.slice(index + from.length),
        line: source.slice(0, index).split('\n').length,
        ...{ from, to },
      })),
  );
}
