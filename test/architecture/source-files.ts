import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const SRC = path.join(__dirname, '../../src');

export interface SourceFile {
  /** Below `src`, such as `modules/emails/emails.service.ts`. */
  readonly name: string;
  readonly text: string;
}

/** Every source file, tests aside. */
export const SOURCES: readonly SourceFile[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.spec.ts'))
  .map((name) => ({ name, text: readFileSync(path.join(SRC, name), 'utf8') }));

export function sourcesNamed(pattern: RegExp): readonly SourceFile[] {
  return SOURCES.filter(({ name }) => pattern.test(name));
}
