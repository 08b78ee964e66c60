// A test runner for Stryker that keeps the tests of an area loaded, and runs for each mutant those that pass its place.
import { createRequire } from 'node:module';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin';
import { determineHitLimitReached, TestStatus } from '@stryker-mutator/api/test-runner';

const { CollectedTests } = createRequire(import.meta.url)('./test-collector.cjs');
const { forgetOwnModules, tryFewCases } = createRequire(import.meta.url)('./typescript-loader.cjs');

const MOST_CASES = 100;
const SEED = 20_261_122;

/** Test files by pattern, where only the name of the file has a `*`. */
export function filesOf(root, patterns) {
  return patterns.flatMap((pattern) => {
    const folder = path.join(root, path.dirname(pattern));
    const parts = path.basename(pattern).split('*').map(escaped);
    const name = new RegExp(`^${parts.join('.*')}$`);
    return readdirSync(folder)
      .filter((file) => name.test(file))
      .sort()
      .map((file) => path.join(folder, file));
  });
}

function escaped(text) {
  return text.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
}

class InProcessRunner {
  #root = process.cwd();
  #files = filesOf(this.#root, process.env.MUTATION_TESTS.split(','));
  /** The state that the instrumented code reads: the active mutant, and its counters. */
  #seen = (globalThis.__stryker__ ??= {});
  #tests;
  /** Of each test without a mutant: milliseconds (the quick ones come first), and turns of the loop. */
  #times = new Map();
  #turns = new Map();
  /** Both, for the process that comes after one that Stryker had to end. */
  #notes = path.join(this.#root, 'test-times.json');

  capabilities() {
    return { reloadEnvironment: true };
  }

  init() {
    tryFewCases(MOST_CASES, SEED);
    if (!existsSync(this.#notes)) return;
    const { times, turns } = JSON.parse(readFileSync(this.#notes, 'utf8'));
    this.#times = new Map(times);
    this.#turns = new Map(turns);
  }

  async dryRun() {
    await this.#load();
    const tests = [];
    for (const id of this.#tests.byId.keys()) {
      this.#seen.currentTestId = id;
      const begun = performance.now();
      const error = await this.#tests.run(id);
      this.#times.set(id, performance.now() - begun);
      const result = { id, name: id, timeSpentMs: this.#times.get(id) };
      tests.push(
        error
          ? { ...result, status: TestStatus.Failed, failureMessage: told(error) }
          : { ...result, status: TestStatus.Success },
      );
    }
    this.#seen.currentTestId = undefined;
    writeFileSync(this.#notes, JSON.stringify({ times: [...this.#times], turns: [...this.#turns] }));
    return { status: 'complete', tests, mutantCoverage: this.#seen.mutantCoverage };
  }

  /** A mutant is killed by a test that passes without it: a test that fails because of an earlier mutant's effects does not count. */
  async mutantRun({ activeMutant: { id }, testFilter, hitLimit, mutantActivation, reloadEnvironment }) {
    const isStatic = mutantActivation === 'static';
    if (isStatic || reloadEnvironment) await this.#forget();
    const first = await this.#try(id, isStatic, testFilter, hitLimit);
    if (isStatic || first.status !== 'killed' || !(await this.#tests.run(first.killedBy[0]))) return first;
    await this.#forget();
    return this.#try(id, isStatic, testFilter, hitLimit);
  }

  async dispose() {
    await this.#tests?.end();
  }

  async #try(mutant, isStatic, testFilter, hitLimit) {
    Object.assign(this.#seen, { hitLimit, hitCount: hitLimit === undefined ? undefined : 0 });
    this.#seen.activeMutant = isStatic ? mutant : undefined;
    try {
      if (!this.#tests) await this.#load();
      this.#seen.activeMutant = mutant;
      return await this.#firstKiller(this.#quickFirst(testFilter ?? [...this.#tests.byId.keys()]));
    } catch (error) {
      // With it the files do not even load.
      if (!isStatic) throw error;
      return { status: 'killed', killedBy: testFilter ?? [], failureMessage: told(error), nrOfTests: 0 };
    } finally {
      this.#seen.activeMutant = undefined;
      this.#seen.hitCount = undefined;
      if (isStatic) await this.#forget();
    }
  }

  #quickFirst(ids) {
    const timeOf = (id) => this.#times.get(id) ?? 0;
    return ids.toSorted((one, other) => timeOf(one) - timeOf(other));
  }

  async #firstKiller(ids) {
    let nrOfTests = 0;
    for (const id of ids) {
      nrOfTests += 1;
      const error = await this.#tests.run(id);
      const endless = determineHitLimitReached(this.#seen.hitCount, this.#seen.hitLimit);
      if (endless) return endless;
      if (error !== undefined) return { status: 'killed', killedBy: [id], failureMessage: told(error), nrOfTests };
    }
    return { status: 'survived', nrOfTests };
  }

  async #load() {
    await this.#forget();
    const tests = new CollectedTests(this.#turns);
    tests.load(this.#root, this.#files);
    this.#tests = tests;
  }

  async #forget() {
    await this.#tests?.end();
    this.#tests = undefined;
    forgetOwnModules(this.#root);
  }
}

/** Without the picture of the values: there may be much of them. */
function told(error) {
  return String(error?.message ?? error).slice(0, 500);
}

export const strykerPlugins = [declareClassPlugin(PluginKind.TestRunner, 'in-process', InProcessRunner)];
