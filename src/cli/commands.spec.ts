import { Command } from 'commander';
import { addCommands } from './commands';
import { CliSession } from './session/cli-session';
import type { Output } from './session/output';

async function programOf(...words: string[]) {
  let sessions = 0;
  const program = new Command('waybill');
  await addCommands(program, words, () => {
    sessions += 1;
    return Promise.resolve(new CliSession({} as Output));
  });
  return { program, isOpened: sessions > 0 };
}

const isComplete = ({ commands, registeredArguments, options }: Command): boolean =>
  commands.length + registeredArguments.length + options.length > 0;

describe('addCommands', () => {
  it('knows all names without loading what the commands do', async () => {
    const { program, isOpened } = await programOf('--help');
    expect(program.commands.map((command) => command.name())).toEqual(
      expect.arrayContaining(['org', 'key', 'domain', 'queue', 'backup', 'restore', 'doctor']),
    );
    expect(program.commands.filter(isComplete)).toEqual([]);
    expect(isOpened).toBe(false);
  });

  it('completes the command that is named, by its alias too, wherever it stands', async () => {
    for (const words of [
      ['suppressions', 'list'],
      ['--json', 'suppression'],
      ['help', 'suppression'],
    ]) {
      const { program, isOpened } = await programOf(...words);
      expect(program.commands.filter(isComplete).map((command) => command.name())).toEqual(['suppression']);
      expect(isOpened).toBe(true);
    }
  });

  it('completes every command but the one that takes no arguments', async () => {
    const { program: all } = await programOf();
    const names = all.commands.map((command) => command.name());
    const { program } = await programOf(...names);
    const bare = program.commands.filter((command) => !isComplete(command)).map((command) => command.name());
    expect(bare).toEqual(['migrate']);
  });
});
