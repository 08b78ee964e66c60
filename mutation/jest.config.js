'use strict';
// Unit tests of one room, for Stryker: its instrumented code needs no database, and nothing runs beside it.
const { transform, transformIgnorePatterns, moduleFileExtensions } = require('../jest.config').projects[0];
const { vendorModules } = require('./vendor-bundle');

module.exports = {
  rootDir: '..',
  testEnvironment: 'node',
  setupFiles: ['<rootDir>/mutation/few-runs.js'],
  testMatch: (process.env.MUTATION_TESTS ?? '').split(',').map((pattern) => `<rootDir>/${pattern}`),
  ...{ transform, transformIgnorePatterns, moduleFileExtensions },
  // The second: loaded by its compiled name.
  moduleNameMapper: { ...vendorModules(), '^(.*/tracing/open-telemetry)\\.js$': '$1' },
};
