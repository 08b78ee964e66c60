'use strict';
/**
 * Jest's words outside of Jest: the tests of some files are collected once, and then run as often as there are mutants, in the same
 * process. Jest itself would set up a run for each mutant, which takes a hundred times as long as the tests.
 */
const path = require('node:path');
const { expect } = require('expect');
const { bind } = require('jest-each');

/**
 * A test that waits for what never comes is told from one on a slow machine by turns of the loop, which are late there, too: it has had
 * ten times as many as it once took to pass, and a hundred.
 */
const TURN_MS = 10;
const MORE_TURNS = 100;
const MANY_TIMES = 10;
/** Of a test that has not passed yet. */
const MOST_TURNS = 12_000;

let failRunning = () => undefined;
for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, (error) => failRunning(error));

/** Tests by id, in their order, and what ends them all. Hooks `beforeAll` run once. */
class CollectedTests {
  byId = new Map();
  #group = { name: '', hooks: { beforeAll: [], beforeEach: [], afterEach: [], afterAll: [] } };
  #groups = [];
  #begun = new Set();

  /** @param turns that each test once took to pass; kept here */
  constructor(turns) {
    this.turns = turns;
  }

  /** Loads test files, whose tests add themselves. */
  load(root, files) {
    Object.assign(globalThis, this.#words());
    for (const file of files) this.#describe(path.relative(root, file), () => require(file));
  }

  /** @returns the error of a test that fails. */
  async run(id) {
    const { body, group } = this.byId.get(id);
    const groups = lineage(group);
    const before = groups.flatMap(({ hooks }) => hooks.beforeEach);
    const after = groups.toReversed().flatMap(({ hooks }) => hooks.afterEach.toReversed());
    const begun = await this.#begin(groups);
    const known = this.turns.get(id);
    const spent = { left: known === undefined ? MOST_TURNS : MORE_TURNS + MANY_TIMES * known, turns: 0 };
    const ended = begun ?? (await firstError([...before, body], spent));
    const error = (await firstError(after)) ?? ended;
    if (error === undefined && known === undefined) this.turns.set(id, spent.turns);
    return error;
  }

  /** Runs the remaining hooks after the last test. */
  async end() {
    for (const group of this.#groups.toReversed()) {
      if (this.#begun.has(group)) await firstError(group.hooks.afterAll);
    }
  }

  async #begin(groups) {
    for (const group of groups.filter((each) => !this.#begun.has(each))) {
      this.#begun.add(group);
      const error = await firstError(group.hooks.beforeAll);
      if (error !== undefined) return error;
    }
    return undefined;
  }

  #words() {
    const describe = (name, define) => this.#describe(name, define);
    const it = (name, body) => this.#add(name, body);
    const hook = (kind) => (body) => void this.#group.hooks[kind].push(body);
    describe.each = bind(describe, false);
    it.each = bind(it, false);
    const hooks = ['beforeAll', 'beforeEach', 'afterEach', 'afterAll'].map((kind) => [kind, hook(kind)]);
    return { describe, it, test: it, expect, ...Object.fromEntries(hooks) };
  }

  #describe(name, define) {
    const parent = this.#group;
    const hooks = { beforeAll: [], beforeEach: [], afterEach: [], afterAll: [] };
    this.#group = { name, parent, hooks };
    this.#groups.push(this.#group);
    try {
      define();
    } finally {
      this.#group = parent;
    }
  }

  #add(name, body) {
    const names = lineage(this.#group).map((group) => group.name);
    let id = [...names, name].join(' ').trim();
    while (this.byId.has(id)) id += ' (again)';
    this.byId.set(id, { body, group: this.#group });
  }
}

/** A group and its parents, outermost first. */
function lineage(group) {
  return group.parent ? [...lineage(group.parent), group] : [group];
}

/** @param spent how many turns are left, and how many were taken */
async function firstError(steps, spent = { left: MOST_TURNS, turns: 0 }) {
  for (const step of steps) {
    const error = await errorOf(step, spent);
    if (error !== undefined) return error;
  }
  return undefined;
}

async function errorOf(step, spent) {
  let timer;
  const broken = new Promise((_resolve, reject) => {
    failRunning = reject;
    const turn = () => ++spent.turns > spent.left && reject(new Error('It waits for what never comes.'));
    timer = setInterval(turn, TURN_MS);
  });
  try {
    await Promise.race([Promise.resolve().then(() => step()), broken]);
    return undefined;
  } catch (error) {
    return error ?? new Error('It failed without an error.');
  } finally {
    clearInterval(timer);
    failRunning = () => undefined;
  }
}

module.exports = { CollectedTests };
