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

export interface MigrationSource {
  /** Of the class. */
  readonly name: string;
  /** The end of the class's name: 4 of `Emails1700000000004`. */
  readonly number: number;
  readonly file: string;
  /** From the end of the class before to the end of this one: with its remark, and with the constants that it uses. */
  readonly text: string;
}

/** In the order of the files' names, and in each file from the top. */
export const MIGRATION_SOURCES: readonly MigrationSource[] = sourcesNamed(/\/migrations\/\d{4}-/)
  .toSorted((one, other) => (one.name < other.name ? -1 : 1))
  .flatMap(({ name: file, text }) =>
    [...text.matchAll(/[^]*?^export class (\w+?17(\d{11})) [^]*?^\}$/gm)].map(([code, name = '', digits = '']) => ({
      ...{ name, number: Number(digits), file, text: code },
    })),
  );
