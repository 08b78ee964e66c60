import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '../..');

/** The version of this build, as in package.json: `1.4.2`. */
export const RELEASE = (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string })
  .version;

/** The commit that this build was made of: as given to the image's build, else that of the checkout. */
export const COMMIT = textOf(join(__dirname, '../commit')).trim() || commitOf(join(ROOT, '.git')) || 'unknown';

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

/** What HEAD of a git directory points at; undefined where there is none to be read (gitrepository-layout(5)). */
function commitOf(gitDirectory: string): string | undefined {
  const head = textOf(join(gitDirectory, 'HEAD'));
  const [, ref] = /^ref: (\S+)/.exec(head) ?? [];
  if (ref === undefined) return /^[0-9a-f]{40,}/.exec(head)?.[0];
  const loose = /^[0-9a-f]{40,}/.exec(textOf(join(gitDirectory, ref)))?.[0];
  return loose ?? textOf(join(gitDirectory, 'packed-refs')).match(new RegExp(`^([0-9a-f]{40,}) ${ref}$`, 'm'))?.[1];
}

function textOf(file: string): string {
  try {
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  } catch {
    return '';
  }
}
