import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type SourceFile, SOURCES, sourcesNamed } from './source-files';

const ROOT = join(__dirname, '../..');

const names = (files: readonly SourceFile[]) => files.map(({ name }) => name);
const linesOf = ({ text }: SourceFile) => text.split('\n').length - 1;

/** A feature of `modules/`, or a folder of `src/`; of the entry, the file. */
const folderOf = (name: string) => name.split('/', name.startsWith('modules/') ? 2 : 1).join('/');

/** Folders with more than one such file. */
function beyondOne(pattern: RegExp): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { name } of sourcesNamed(pattern)) counts[folderOf(name)] = (counts[folderOf(name)] ?? 0) + 1;
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 1));
}

/** Public keys have a file of their own: the responder of the role `dns` must not import what decrypts private ones. */
const MODULES = { 'modules/domains': 2 };
/** Lower a number when two become one. */
const REPOSITORIES = {
  ...{ auth: 3, delivery: 5 },
  ...{ 'modules/domains': 4, 'modules/emails': 5, 'modules/inbound-mail': 2 },
  ...{ 'modules/webhooks': 2 },
};

/**
 * How many files may be longer than 180 lines. A number and not a share of all files, which merging small ones would raise.
 * Migrations do not count: a reader looks one up, and does not read the file.
 */
const LONG = 70;

describe('the size of the code base', () => {
  it('has files of a readable length: split what is longer, merge what is always read together', () => {
    const lines = SOURCES.map(linesOf).sort((one, other) => one - other);
    const long = SOURCES.filter((file) => linesOf(file) > 180 && !/\/migrations\/\d/.test(file.name));
    expect(names(SOURCES.filter((file) => linesOf(file) > 300))).toEqual([]);
    expect(long.length).toBeLessThanOrEqual(LONG);
    expect(lines[Math.floor(lines.length / 2)]).toBeLessThanOrEqual(120);
    expect(lines[Math.floor(lines.length / 2)]).toBeGreaterThanOrEqual(60);
  });

  it('has one file of Nest modules for each folder, and a further one only where a role must not import the rest', () => {
    expect(beyondOne(/\.module\.ts$/)).toEqual(MODULES);
  });

  it('has one repository for each owner of tables, not for each use case: add the method to the one that is there', () => {
    expect(beyondOne(/\.repository\.ts$/)).toEqual(REPOSITORIES);
  });
});

describe('files', () => {
  it('are no barrels: import the file itself', () => {
    expect(names(sourcesNamed(/(^|\/)index\.ts$/))).toEqual([]);
  });

  it('take the environment from config/: add the variable to config/environment.ts', () => {
    const others = SOURCES.filter(({ name, text }) => !name.startsWith('config/') && text.includes('process.env'));
    expect(names(others)).toEqual([]);
  });

  it('of features leave the engine to worker.module.ts: import DeliveryQueueModule', () => {
    const users = SOURCES.filter(({ name, text }) => name.startsWith('modules/') && /\bDeliveryModule\b/.test(text));
    expect(names(users)).toEqual([]);
  });

  it('start background jobs in <what>.job.ts: move the class that uses PeriodicJobs there, and list it in its module', () => {
    const users = SOURCES.filter(
      ({ name, text }) => /\bjobs\.(start|startRemoval)\(/.test(text) && !name.endsWith('.job.ts'),
    );
    expect(names(users)).toEqual([]);
  });
});

describe('modules', () => {
  /** Members of a class besides `static register…`: two spaces, a name, a parameter list. */
  const MEMBER =
    /^ {2}(?!static register)(?:private |protected |public |readonly |static |async |get |set )*\w+(?:<[^>]*>)?\(/m;

  it('are wiring only: move what a module does into a provider', () => {
    const busy = sourcesNamed(/\.module\.ts$/).filter(({ text }) => {
      const classes = text.slice(Math.max(0, text.indexOf('export class')));
      return MEMBER.test(classes);
    });
    expect(names(busy)).toEqual([]);
  });
});

it('no variable has a name of CommonJS: the compiler writes `exports.NAME` for a constant, which a local `exports` would hide', () => {
  const declared = /\b(?:const|let|var|function|class) (?:exports|module|require)\b/;
  expect(names(SOURCES.filter(({ text }) => declared.test(text)))).toEqual([]);
});

it('benchmarks and the chaos harness load files that exist: they name them by their places in dist/, which no compiler checks', () => {
  const loaded = ['bench', 'chaos'].flatMap((folder) => {
    const scripts = readdirSync(join(ROOT, folder), { encoding: 'utf8', recursive: true }).filter((name) =>
      name.endsWith('.mjs'),
    );
    return scripts.flatMap((name) => [
      ...readFileSync(join(ROOT, folder, name), 'utf8').matchAll(/\bload\('\.\/([^']+)\.js'\)/g),
    ]);
  });
  const places = [...new Set(loaded.map(([, place]) => `${place}.ts`))];
  expect(places).toContain('config/load-config.ts');
  expect(places.filter((place) => !existsSync(join(ROOT, 'src', place)))).toEqual([]);
});
