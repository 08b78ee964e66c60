import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = join(__dirname, 'hostile');

export type HostileKind = 'dns-answer' | 'dns-query' | 'http' | 'liquid' | 'mime' | 'smtp-client' | 'smtp-server';

/** Names that stand for what a test knows, such as a key: `\KEY`. */
export type Fillings = Readonly<Record<string, Buffer | string>>;

/** The inputs of a kind, sorted by name. */
export function hostileInputs(kind: HostileKind, fillings: Fillings = {}): Buffer[] {
  const folder = join(FOLDER, kind);
  const names = readdirSync(folder).sort();
  return names.map((name) =>
    fill(readFileSync(join(folder, name), 'latin1'), kind.startsWith('dns') ? '' : '\r\n', fillings),
  );
}

/**
 * A line end stands for CR LF, in DNS messages for nothing; `\x00`, `\r`, `\n` and `\\` for bytes; `\(ab*3)` for `ababab`.
 * The files are ASCII.
 */
function fill(text: string, lineEnd: string, fillings: Fillings): Buffer {
  const whole = repeated(text.replace(/\r?\n/g, lineEnd.replace('\r', '\\r').replace('\n', '\\n')));
  return Buffer.from(
    whole.replace(/\\(x[0-9a-f]{2}|[A-Z]+|.)/g, (escape, name: string) => {
      const filling = fillings[name];
      if (filling !== undefined) return typeof filling === 'string' ? filling : filling.toString('latin1');
      if (/^x[0-9a-f]{2}$/.test(name)) return String.fromCharCode(Number.parseInt(name.slice(1), 16));
      return { r: '\r', n: '\n', '\\': '\\' }[name] ?? escape;
    }),
    'latin1',
  );
}

/** The innermost first. */
function repeated(text: string): string {
  const pattern = /\\\(((?:(?!\\\(|\*\d+\)).)*)\*(\d+)\)/gs;
  const once = text.replace(pattern, (_, part: string, count: string) => part.repeat(Number(count)));
  return once === text ? text : repeated(once);
}
