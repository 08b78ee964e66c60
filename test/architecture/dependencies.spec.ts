import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');
const read = (name: string): any => JSON.parse(readFileSync(join(ROOT, name), 'utf8'));

/** What docs/releasing.md promises of a release's parts. */
describe('dependencies', () => {
  const { dependencies, devDependencies, optionalDependencies } = read('package.json');
  const asked: [string, string][] = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies });
  // A second major version of a package has a name of its own: `"typescript-7": "npm:typescript@7.0.2"`.
  const direct = Object.fromEntries(asked.map(([name, version]) => [name, version.replace(/^npm:.+@/, '')]));
  const { packages } = read('package-lock.json') as { packages: Record<string, Record<string, unknown>> };

  it('are of one version each', () => {
    const loose = Object.entries(direct).filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version));
    expect(loose).toEqual([]);
  });

  it('are in the lock file with the requested versions', () => {
    const locked = Object.keys(direct).map((name) => [name, packages[`node_modules/${name}`]?.version]);
    expect(Object.fromEntries(locked)).toEqual(direct);
  });

  it('come with a hash, from a registry', () => {
    const installed = Object.entries(packages).filter(([path, entry]) => path !== '' && entry.inBundle !== true);
    const unproved = installed.filter(([, { integrity, resolved = '' }]) => {
      return !/^sha512-/.test(String(integrity)) || !/^$|^https:.+\.tgz$/.test(String(resolved));
    });
    expect(installed.length).toBeGreaterThan(100);
    expect(unproved.map(([path]) => path)).toEqual([]);
  });

  it('actions of workflows are pinned by commit', () => {
    const folder = join(ROOT, '.github/workflows');
    const files = existsSync(folder) ? readdirSync(folder) : [];
    const used = files.flatMap((name) => readFileSync(join(folder, name), 'utf8').match(/uses:\s*\S+/g) ?? []);
    expect(used.filter((each) => !/@[0-9a-f]{40}$|uses:\s*\.\//.test(each))).toEqual([]);
  });
});
