import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';

const ROOT = path.join(__dirname, '../..');
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');
const exists = (file: string) => existsSync(path.join(ROOT, file));

/** The files of the example in CONTRIBUTING.md: a block of TypeScript whose first line is its path. */
const EXAMPLE = [...read('CONTRIBUTING.md').matchAll(/```ts\n\/\/ (\S+)\n([\s\S]*?)```/g)].map(
  ([, file = '', code = '']) => ({
    file,
    code,
  }),
);

describe('the documentation for those who extend the service', () => {
  it('imports what exists in its example: follow it when a file is moved', () => {
    const written = new Set(EXAMPLE.map(({ file }) => file));
    const missing = EXAMPLE.flatMap(({ file, code }) =>
      [...code.matchAll(/from '(\.[^']+)'/g)]
        .map(([, specifier = '']) => `${path.posix.join(path.posix.dirname(file), specifier)}.ts`)
        .filter((imported) => !written.has(imported) && !exists(imported))
        .map((imported) => `${file} imports ${imported}`),
    );
    expect(EXAMPLE.length).toBeGreaterThan(5);
    expect(missing).toEqual([]);
  });

  it('names files that exist', () => {
    const page = read('docs/a-mails-life.md');
    let folder = '';
    const missing = [...page.matchAll(/`([a-z][\w-]*(?:[/.][\w-]+)*(?:\.ts|\/))`/g)]
      .map(([, name = '']) => {
        if (name.includes('/')) folder = name.endsWith('/') ? name : path.posix.dirname(name);
        return name.includes('/') ? name : `${folder}/${name}`;
      })
      .filter((name) => name !== 'src/' && !exists(`src/${name}`));
    expect(missing).toEqual([]);
  });
});

describe('the failure modes of docs/reliability.md', () => {
  const rows = [...read('docs/reliability.md').matchAll(/^\| (F\d\d) +\|.*$/gm)];

  it('are all there', () => {
    const all = Array.from({ length: 72 }, (_, index) => `F${String(index + 1).padStart(2, '0')}`);
    expect(rows.map(([, name]) => name)).toEqual(all);
  });

  it('name tests that exist', () => {
    const cited = rows.flatMap(([row, name = '']) =>
      [...row.matchAll(/\]\(\.\.\/((?:src|test)\/[^)]+)\)((?:[ ,]*“[^”]+”)*)/g)].map(([, file = '', quotes = '']) => ({
        name,
        file,
        quotes: [...quotes.matchAll(/“([^”]+)”/g)].map(([, quote = '']) => quote),
      })),
    );
    const missing = cited.flatMap(({ name, file, quotes }) =>
      exists(file)
        ? quotes.filter((quote) => !read(file).includes(quote)).map((quote) => `${name}: “${quote}” in ${file}`)
        : [`${name}: ${file}`],
    );
    expect(cited.length).toBeGreaterThan(60);
    expect(missing).toEqual([]);
  });
});
