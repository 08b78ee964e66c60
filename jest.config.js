'use strict';

const shared = {
  // Else packages and builds are looked through as well, for each project.
  roots: ['src', 'console/src', 'chaos', 'test'].map((folder) => `<rootDir>/${folder}`),
  testEnvironment: '<rootDir>/test/setup/shared-environment.js',
  runtime: '<rootDir>/test/setup/shared-runtime.js',
  moduleFileExtensions: ['ts', 'js', 'mjs', 'cjs', 'json', 'node'],
  transform: { '^.+\\.[cm]?[jt]s$': '<rootDir>/test/setup/jest-transform.js' },
  // Every file passes through the transform, which leaves CommonJS files untouched.
  transformIgnorePatterns: [],
  // Modules outlive a test file, and ids count on from the latest time that they have seen. Time of day comes from a `FakeClock`.
  fakeTimers: { doNotFake: ['Date'] },
  // The copy that mutation tests work on has packages and tests of the same names.
  modulePathIgnorePatterns: ['<rootDir>/.stryker-tmp'],
};
const database = {
  setupFiles: ['<rootDir>/test/setup/reused-dkim-keys.ts'],
  globalSetup: '<rootDir>/test/setup/start-cluster.ts',
  globalTeardown: '<rootDir>/test/setup/stop-cluster.ts',
};

module.exports = {
  testSequencer: '<rootDir>/test/setup/slow-first-sequencer.js',
  reporters: ['default', '<rootDir>/test/setup/summary-reporter.js'],
  // Waits end by their condition; this is for a machine with much else to do.
  testTimeout: 240_000,
  // Twice the cores that CI has: much of the integration and end-to-end tests is waiting. Five take as long.
  maxWorkers: 4,
  // What tests leave behind adds up, and a fresh worker loads everything again: 3 s of CPU time.
  workerIdleMemoryLimit: '1500MB',
  projects: [
    {
      ...shared,
      displayName: 'unit',
      testMatch: ['<rootDir>/{src,console}/**/*.spec.ts', '<rootDir>/chaos/**/*.spec.mjs'],
    },
    { ...shared, displayName: 'architecture', testMatch: ['<rootDir>/test/architecture/**/*.spec.ts'] },
    {
      ...shared,
      ...database,
      displayName: 'integration',
      testMatch: ['<rootDir>/test/integration/**/*.spec.ts'],
    },
    { ...shared, ...database, displayName: 'e2e', testMatch: ['<rootDir>/test/e2e/**/*.spec.ts'] },
  ],
};
