import { type SourceFile, SOURCES, sourcesNamed } from './source-files';

const names = (files: readonly SourceFile[]) => files.map(({ name }) => name);
const linesOf = ({ text }: SourceFile) => text.split('\n').length - 1;

describe('the size of the house', () => {
  it('has files of a readable length: split what is longer, merge what is always read together', () => {
    const lines = SOURCES.map(linesOf).sort((one, other) => one - other);
    expect(names(SOURCES.filter((file) => linesOf(file) > 300))).toEqual([]);
    expect(lines[Math.floor(lines.length * 0.9)]).toBeLessThanOrEqual(180);
    expect(lines[Math.floor(lines.length / 2)]).toBeLessThanOrEqual(80);
    expect(lines[Math.floor(lines.length / 2)]).toBeGreaterThanOrEqual(60);
  });

  // One module for each feature: a further one only where a role must not load the rest. Add providers to the feature's module.
  it('has few Nest modules', () => {
    expect(sourcesNamed(/\.module\.ts$/).length).toBeLessThanOrEqual(32);
  });

  // One repository for each owner of tables, not for each use case. Add the method to the feature's repository.
  it('has few repositories', () => {
    expect(sourcesNamed(/\.repository\.ts$/).length).toBeLessThanOrEqual(36);
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
