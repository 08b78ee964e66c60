import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The version of this build, as in package.json: `1.4.2`. */
export const RELEASE = (
  JSON.parse(readFileSync(join(__dirname, '../../package.json'), 'utf8')) as { readonly version: string }
).version;

/** Whether release `a` is older than `b`, by their numbers (semver.org, without pre-releases). */
export function isOlderRelease(a: string, b: string): boolean {
  const [left, right] = [numbersOf(a), numbersOf(b)];
  const index = left.findIndex((number, at) => number !== right[at]);
  return index >= 0 && (left[index] as number) < (right[index] as number);
}

function numbersOf(release: string): number[] {
  const [major = 0, minor = 0, patch = 0] = release.split(/[.+-]/).map(Number);
  return [major, minor, patch];
}
