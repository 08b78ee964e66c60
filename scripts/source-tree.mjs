// The source tree as data: its files and their imports. For the size table and the check of the folders.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const git = (...args) => execFileSync('git', args, { encoding: 'utf8', maxBuffer: 1 << 28 });
const isSource = (file) => file.endsWith('.ts') && !file.endsWith('.spec.ts');

/** Text by path of every source file below `src` except tests: of the working tree, or of a commit. */
export function readSources(revision) {
  const files = revision
    ? git('ls-tree', '-r', '--name-only', revision, 'src').split('\n')
    : readdirSync('src', { recursive: true, encoding: 'utf8' }).map((file) => path.posix.join('src', file));
  const read = (file) => (revision ? git('show', `${revision}:${file}`) : readFileSync(file, 'utf8'));
  return new Map(
    files
      .filter(isSource)
      .sort()
      .map((file) => [file, read(file)]),
  );
}

/** Every relative import, as paths of two source files. */
export function importsOf(sources) {
  return [...sources].flatMap(([from, text]) =>
    [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)]
      .map(([, specifier]) => ({ from, to: `${path.posix.join(path.posix.dirname(from), specifier)}.ts` }))
      .filter(({ to }) => sources.has(to)),
  );
}

/** A folder and its own `dto/` or `sql/` belong together and may import each other. */
function isOwnData(one, other) {
  return ['dto', 'sql'].some((name) => one === `${other}/${name}` || other === `${one}/${name}`);
}

/** Pairs of folders that import each other, each with one import of either direction. */
export function mutualFolders(sources) {
  const firstImport = new Map();
  for (const { from, to } of importsOf(sources)) {
    const pair = `${path.posix.dirname(from)} ${path.posix.dirname(to)}`;
    if (!firstImport.has(pair)) firstImport.set(pair, { from, to });
  }
  return [...firstImport]
    .map(([pair, there]) => {
      const [one, other] = pair.split(' ');
      return { one, other, there, back: firstImport.get(`${other} ${one}`) };
    })
    .filter(({ one, other, back }) => one < other && back !== undefined && !isOwnData(one, other));
}
