import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(__dirname, 'reports');

/** Names of the messages in `reports/`, sorted, without `.eml`. */
export function corpusNames(): string[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.eml'))
    .map((name) => name.replace('.eml', ''))
    .sort();
}

export function readCorpus(name: string): Buffer {
  return readFileSync(join(FOLDER, `${name}.eml`));
}

/** By name: the report that each message must give. Of the original's bytes it has only the number. */
export function expectedReports(): Record<string, object> {
  return JSON.parse(readFileSync(join(FOLDER, 'expected.json'), 'utf8')) as Record<string, object>;
}
