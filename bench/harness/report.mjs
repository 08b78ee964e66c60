/** Prints the measurements as text tables: figures with their floors, CPU seconds per 1,000, memory. */
export function printReport({ facts, settings, figures }) {
  const lines = [
    ...facts,
    `${settings.rounds} interleaved rounds, ${settings.seconds} s each; medians (lowest–highest)`,
    '',
    ...table(['figure', 'product', 'floor', 'ratio', 'target'], figures.flatMap(comparisons)),
    '',
    ...table(['CPU seconds per 1,000', 'process', 'median'], figures.flatMap(cpuRows)),
    '',
    ...table(['peak memory', 'process', 'MB'], figures.flatMap(memoryRows)),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

function comparisons({ name, unit, contenders, samples, targets }) {
  const product = samples.get('product');
  return contenders
    .filter((contender) => contender.name !== 'product')
    .map((floor) => {
      const floors = samples.get(floor.name);
      const ratios = product.map((sample, round) => sample.rate / floors[round].rate);
      return [
        `${name}, ${unit}/s`,
        spread(product.map((sample) => sample.rate)),
        `${floor.name} ${spread(floors.map((sample) => sample.rate))}`,
        spread(ratios, 2),
        `≥ ${targets[floor.name]}`,
      ];
    });
}

function cpuRows({ name, contenders, samples }) {
  return contenders.flatMap((contender) =>
    Object.keys(contender.processes).map((process) => [
      `${name}, ${contender.name}`,
      process,
      median(samples.get(contender.name).map((sample) => sample.cpu[process])).toFixed(3),
    ]),
  );
}

function memoryRows({ name, memory }) {
  return Object.entries(memory).map(([process, megabytes]) => [name, process, megabytes.toFixed(0)]);
}

function spread(values, digits = 0) {
  const show = (value) => value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${show(median(values))} (${show(Math.min(...values))}–${show(Math.max(...values))})`;
}

export function median(values) {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** A Markdown table with aligned columns. */
function table(head, rows) {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column].length)));
  const line = (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)];
}
