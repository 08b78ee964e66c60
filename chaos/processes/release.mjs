import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { DIST, ROOT } from '../../bench/harness/product.mjs';
import { say } from '../say.mjs';

const execute = promisify(execFile);

/** The newest tag `v*` in the history of this checkout; undefined when there is none. */
export async function latestRelease() {
  const tag = await git('describe', '--tags', '--match', 'v*', '--abbrev=0').catch(() => '');
  return tag === '' ? undefined : tag;
}

/** This build, and that of a git revision: `{old, new}`, each `{name, dist, load}`; `load` takes the name of a file, wherever the release has it. */
export async function releasesFrom(revision) {
  const commit = await git('rev-parse', '--verify', `${revision}^{commit}`);
  const old = await buildOf(commit);
  return { old: releaseIn(old, `${await versionIn(old)} (${revision})`), new: thisRelease(await versionIn(ROOT)) };
}

/** This checkout's build. @param name for people */
export function thisRelease(name = 'this build') {
  return releaseIn(path.dirname(DIST), name);
}

function releaseIn(folder, name) {
  const dist = path.join(folder, 'dist');
  return { name, dist, load: loaderOf(dist) };
}

/** Loads a build's modules by the names of their files alone: files move to other folders from one release to the next. */
export function loaderOf(dist) {
  const load = createRequire(path.join(dist, 'main.js'));
  let files;
  return (name) => {
    files ??= readdirSync(dist, { recursive: true });
    const found = files.filter((file) => path.basename(file) === name);
    if (found.length !== 1) throw new Error(`${dist} has ${found.length} files ${name}`);
    return load(`./${found[0]}`);
  };
}

/** The folder of a built commit. Kept for the next run. */
async function buildOf(commit) {
  const folder = path.join(os.tmpdir(), 'waybill-releases', commit);
  if (existsSync(path.join(folder, 'node_modules'))) return folder;
  // A checkout whose packages it had a link to may be gone.
  await rm(folder, { recursive: true, force: true });
  const making = `${folder}.${process.pid}`;
  try {
    await mkdir(making, { recursive: true });
    say(`building ${commit.slice(0, 12)}`);
    await extract(commit, making);
    await addDependencies(making);
    await execute('npm', ['run', 'build'], { cwd: making });
    await rename(making, folder);
  } catch (error) {
    await rm(making, { recursive: true, force: true });
    throw new Error(`${commit} cannot be built: ${error.stdout || error.message}`, { cause: error });
  }
  return folder;
}

async function extract(commit, folder) {
  const archive = spawn('git', ['archive', '--format=tar', commit], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const tar = spawn('tar', ['-x', '-C', folder], { stdio: [archive.stdout, 'ignore', 'inherit'] });
  for (const [code] of await Promise.all([once(archive, 'exit'), once(tar, 'exit')])) {
    if (code !== 0) throw new Error('git archive or tar has failed');
  }
}

/** The packages that are installed here, if they are the same; else its own, by its lock file. */
async function addDependencies(folder) {
  const { dependencies, devDependencies } = await packageIn(folder);
  const wanted = Object.entries({ ...dependencies, ...devDependencies });
  const installed = await Promise.all(
    wanted.map(([name]) => packageIn(path.join(ROOT, 'node_modules', name)).catch(() => ({ version: 'none' }))),
  );
  if (wanted.every(([, version], index) => installed[index].version === version)) {
    await symlink(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
  } else {
    await execute('npm', ['ci', '--no-audit', '--no-fund'], { cwd: folder });
  }
}

async function packageIn(folder) {
  return JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'));
}

async function versionIn(folder) {
  return (await packageIn(folder)).version;
}

async function git(...args) {
  return (await execute('git', args, { cwd: ROOT })).stdout.trim();
}
