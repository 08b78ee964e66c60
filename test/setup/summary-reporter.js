'use strict';
const path = require('node:path');

const SLOWEST = 10;

/**
 * Prints at the end of a run which files took longest, with the share of all workers' time, and one plain line for tools to
 * parse. What stands at the top is where the next minute of the suite is to be saved (CONTRIBUTING.md).
 */
module.exports = class SummaryReporter {
  constructor({ rootDir }) {
    this.rootDir = rootDir;
  }

  onRunComplete(_contexts, { testResults, numPassedTests, numFailedTests, numRuntimeErrorTestSuites }) {
    if (testResults.length > SLOWEST) process.stdout.write(this.slowest(testResults));
    const failed = numFailedTests + numRuntimeErrorTestSuites;
    const seed = process.env.SHUFFLE_SEED;
    if (seed) process.stdout.write(`\nThe order of the files is that of SHUFFLE_SEED=${seed}\n`);
    process.stdout.write(`\n${numPassedTests} passed, ${failed} failed\n`);
  }

  slowest(testResults) {
    const seconds = (file) => (file.perfStats.end - file.perfStats.start) / 1000;
    const total = testResults.reduce((sum, file) => sum + seconds(file), 0);
    const lines = [...testResults]
      .sort((a, b) => seconds(b) - seconds(a))
      .slice(0, SLOWEST)
      .map((file) => `${seconds(file).toFixed(1).padStart(7)} s  ${path.relative(this.rootDir, file.testFilePath)}`);
    return `\nThe slowest of ${testResults.length} files, ${total.toFixed(0)} s in all:\n${lines.join('\n')}\n`;
  }
};
