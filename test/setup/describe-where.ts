/**
 * A suite that needs what is not installed everywhere. Without it the suite is skipped, which is reported.
 * @param otherwise what is missing, and what to do about it
 */
export function describeWhere(isThere: boolean, name: string, suite: () => void, otherwise: string): void {
  if (isThere) {
    describe(name, suite);
    return;
  }
  process.stderr.write(`${name}: skipped, ${otherwise}\n`);
  describe.skip(name, suite);
}
