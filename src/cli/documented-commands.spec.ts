import type { Command } from 'commander';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createProgram } from './run-cli';
import { CliSession } from './session/cli-session';
import type { Output } from './session/output';

const ROOT = path.resolve(__dirname, '../..');
const UUID = '0190c0de-0000-7000-8000-000000000001';
/** What documents write for what the reader fills in. */
const VALUES: Readonly<Record<string, string>> = {
  timestamp: '2099-01-01T00:00:00Z',
  hour: '2026-01-01T10:00:00Z',
  n: '3',
  weight: '3',
  days: '30',
  address: 'ada@example.com',
  domain: 'example.com',
  key: 'mx1.example.net',
  mode: 'test',
  service: 'ses',
  pid: '4711',
};

interface Documented {
  readonly page: string;
  readonly line: string;
}

/** Lines of shell blocks, and code within text, that begin with the command. Output and prose do not. */
function documented(): Documented[] {
  const pages = ['README.md', ...pagesIn('docs'), ...pagesIn('docs/migrate-from')];
  return pages.flatMap((page) => {
    const text = readFileSync(path.join(ROOT, page), 'utf8');
    const blocks = [...text.matchAll(/```sh\n([^]*?)```/g)].flatMap(([, block = '']) =>
      block.replace(/\\\n\s*/g, '').split('\n'),
    );
    const spans = [...text.replace(/```[^]*?```/g, '').matchAll(/`(waybill [^`]+)`/g)].map(([, span = '']) => span);
    const lines = [...blocks, ...spans].map((line) => line.trim().replace(/\s+/g, ' '));
    return lines.filter((line) => /^(?:npx )?waybill [a-z-]/.test(line)).map((line) => ({ page, line }));
  });
}

function pagesIn(folder: string): string[] {
  return readdirSync(path.join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => path.join(folder, name));
}

/** The words of one command as a shell would pass them, every option given and the last of alternatives taken. */
function wordsOf(line: string): string[] {
  const command = line.replace(/^(?:npx )?waybill /, '').replace(/(?:\s#|\s\||\s>|\s&&|;).*$/, '');
  const filled = command.replace(/[[\]]/g, '').replace(/<([^>]+)>/g, (_, name: string) => VALUES[name] ?? UUID);
  const words = filled.match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
  return words.map((word) => word.replace(/^["']|["']$/g, '').replace(/^(?:[a-z_]+\|)+([a-z_]+)$/, '$1'));
}

/** Whether the words only name a command, or a group of them. */
function isName(command: Command, [word, ...others]: readonly string[]): boolean {
  if (word === undefined) return true;
  const child = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
  return child !== undefined && isName(child, others);
}

/** Nothing runs: only the words are understood. */
function silenced(command: Command): Command {
  if (command.commands.length === 0) command.action(() => undefined);
  for (const child of command.commands) silenced(child);
  return command;
}

describe('commands that the documents name', () => {
  const commands = documented();

  it('are found', () => expect(commands.length).toBeGreaterThan(80));

  it.each(commands)('$page: $line', async ({ line }) => {
    const words = wordsOf(line);
    const session = new CliSession({} as Output);
    const program = silenced(await createProgram(words, [], () => Promise.resolve(session)));
    if (isName(program, words)) return;
    await expect(program.parseAsync(words, { from: 'user' })).resolves.toBeDefined();
  });
});
