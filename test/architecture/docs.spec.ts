import { existsSync, readdirSync, readFileSync } from 'node:fs';
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

describe('the documentation for developers', () => {
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

/** Everything that is read about the project; the change log speaks of files as they were. */
const PAGES = ['', 'docs', 'docs/adr', 'docs/migrate-from', 'deploy', 'bench', 'chaos', 'mutation', 'sdk'].flatMap(
  (folder) =>
    readdirSync(path.join(ROOT, folder || '.'))
      .filter((name) => /\.(?:md|mjs)$/.test(name) && name !== 'CHANGELOG.md')
      .map((name) => path.posix.join(folder, name)),
);
/** A path from the root, such as `test/setup/wait-for.ts`, or one below `src/`, such as `modules/emails/email.entity.ts`. */
const FROM_ROOT =
  /(?<![\w./-])((?:src|test|bench|chaos|scripts|docs|mutation|deploy)\/[\w./-]+\.(?:ts|mjs|cjs|js|md|json|yaml))\b/g;
const BELOW_SRC =
  /(?<![\w/-])(?:\.\/)?((?:modules|common|delivery|auth|audit|database|throttling|config|bootstrap|openapi|cli)\/[\w./-]*\.(?:ts|js))\b/g;

describe('pages and programs beside the source', () => {
  it.each(PAGES)('%s names files that exist: follow what is moved', (page) => {
    const text = read(page);
    const written = new Set(EXAMPLE.map(({ file }) => file));
    const fromRoot = [...text.matchAll(FROM_ROOT)].map(([, name = '']) => name);
    // Programs load what has been compiled.
    const belowSrc = [...text.matchAll(BELOW_SRC)].map(([, name = '']) => `src/${name.replace(/\.js$/, '.ts')}`);
    const missing = [...new Set([...fromRoot, ...belowSrc])].filter(
      (name) => !exists(name) && !exists(path.posix.join(path.posix.dirname(page), name)) && !written.has(name),
    );
    expect(missing).toEqual([]);
  });
});

const MARKDOWN = [...PAGES.filter((page) => page.endsWith('.md')), 'docs/recipes/README.md', 'CHANGELOG.md'];

/** Of headings, as GitHub makes them. */
function anchorsOf(page: string): Set<string> {
  const headings = read(page)
    .replace(/^```[^]*?^```/gm, '')
    .matchAll(/^#+ (.*)$/gm);
  return new Set(
    [...headings].map(([, heading = '']) =>
      heading
        .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
        .toLowerCase()
        .replace(/[^\p{L}\p{N}_ -]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

describe('links between the pages', () => {
  it.each(MARKDOWN)('of %s lead to files and headings that exist', (page) => {
    const links = [...read(page).matchAll(/\]\((?!\w+:)([^)#\s]*)#?([^)\s]*)\)/g)];
    const broken = links.flatMap(([, file = '', anchor = '']) => {
      const target = file === '' ? page : path.posix.join(path.posix.dirname(page), file);
      if (!exists(target)) return [target];
      return anchor !== '' && target.endsWith('.md') && !anchorsOf(target).has(anchor) ? [`${target}#${anchor}`] : [];
    });
    expect(broken).toEqual([]);
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
