'use strict';
const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

/**
 * Test files run in the realm of their worker process, one after the other, instead of a V8 context each: only so can they
 * share modules (see shared-runtime.js). What a file changes in the process is put back after it.
 */
module.exports = class SharedEnvironment {
  constructor({ projectConfig }) {
    this.restore = remember();
    this.global = globalThis;
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimers = null;
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
    Error.stackTraceLimit = 100;
  }

  async setup() {}

  async teardown() {
    this.moduleMocker.restoreAllMocks();
    this.fakeTimersModern.dispose();
    this.restore();
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  /** Not used: the runtime compiles in the worker's own context. */
  getVmContext() {
    return {};
  }
};

/** Where Jest keeps the state of a test file, which would hold its modules and all that they refer to. */
const STATES =
  /^(JEST_STATE_SYMBOL|EVENT_HANDLERS|RETRY_\w+|WAIT_BEFORE_RETRY|TEST_TIMEOUT_SYMBOL|LOG_ERRORS_BEFORE_RETRY)$/;

/** A spy on a fake timer, restored after the timers are, would leave the fake one to the next file. */
const TIMERS = ['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate'];
const GLOBALS = [...TIMERS, 'queueMicrotask', 'Date', 'performance', 'fetch', 'console'];

/** @returns puts what Jest and tests replace in the process back to what it is now */
function remember() {
  const env = { ...process.env };
  const { exit, exitCode, nextTick, hrtime } = process;
  const globals = GLOBALS.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)]);
  const folder = process.cwd();
  return () => {
    Object.assign(process, { exit, exitCode, nextTick, hrtime });
    for (const [name, descriptor] of globals) Object.defineProperty(globalThis, name, descriptor);
    if (process.cwd() !== folder) process.chdir(folder);
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    for (const [name, value] of Object.entries(env)) if (process.env[name] !== value) process.env[name] = value;
    for (const key of Object.getOwnPropertySymbols(globalThis)) {
      if (STATES.test(key.description)) delete globalThis[key];
    }
  };
}
