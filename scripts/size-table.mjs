// Prints the size of the source tree by folder: `node scripts/size-table.mjs [revision]`. Without a revision it
// measures the working tree; with one, that commit, so that two states can be compared.
import { importsOf, mutualFolders, readSources } from './source-tree.mjs';

const sources = readSources(process.argv[2]);
const importers = new Map([...sources.keys()].map((file) => [file, new Set()]));
for (const { from, to } of importsOf(sources)) importers.get(to).add(from);
const mutual = mutualFolders(sources);

/** `src/modules/emails/accept/x.ts` belongs to the folder `modules/emails`; migrations are history, which is not read with the rest. */
function folderOf(file) {
  const parts = file.split('/').slice(1, -1);
  const isDeep = parts[0] === 'modules' || parts[1] === 'migrations';
  return parts.slice(0, isDeep ? 2 : 1).join('/') || '(entry)';
}

function rowOf(name, files) {
  const lines = files.map((file) => sources.get(file).split('\n').length - 1).sort((one, other) => one - other);
  const ending = (suffix) => files.filter((file) => file.endsWith(suffix)).length;
  return {
    folder: name,
    files: files.length,
    lines: lines.reduce((sum, count) => sum + count, 0),
    modules: ending('.module.ts'),
    repositories: ending('.repository.ts'),
    median: lines[Math.floor(lines.length / 2)],
    p90: lines[Math.floor(lines.length * 0.9)],
    longest: lines.at(-1),
    'under 25': lines.filter((count) => count < 25).length,
    'one importer': files.filter((file) => importers.get(file).size === 1).length,
  };
}

const byFolder = Map.groupBy ? Map.groupBy(sources.keys(), folderOf) : groupBy([...sources.keys()], folderOf);
function groupBy(items, keyOf) {
  const groups = new Map();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}
const rows = [...byFolder].sort().map(([name, files]) => rowOf(name, files));
rows.push(rowOf('total', [...sources.keys()]));

const columns = Object.keys(rows[0]);
const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => String(row[column]).length)));
const print = (cells) =>
  console.log(
    cells
      .map((cell, at) => (at === 0 ? String(cell).padEnd(widths[at]) : String(cell).padStart(widths[at])))
      .join('  '),
  );
print(columns);
for (const row of rows) print(columns.map((column) => row[column]));
console.log(`\nfolders that import each other: ${mutual.length}`);
for (const { one, other } of mutual) console.log(`  ${one} and ${other}`);
