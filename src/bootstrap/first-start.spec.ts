import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { curlCommand, shellQuote } from './first-start';

/** What a shell makes of a line: its words. */
function words(line: string): string[] {
  return execFileSync('sh', ['-c', `printf '%s\\0' ${line}`], { encoding: 'utf8' })
    .split('\0')
    .slice(0, -1);
}

describe('shellQuote', () => {
  it.each(['plain', '', "it's", 'a b', '$HOME `id` $(id) "x" \\ ! * ? ~ # & ; | > <', 'two\nlines', "''", '-x'])(
    'a shell reads %j back',
    (text) => {
      expect(words(shellQuote(text))).toEqual([text]);
    },
  );

  it('leaves alone what needs no quotes', () => {
    expect(shellQuote('http://localhost:3000/v1/emails')).toBe('http://localhost:3000/v1/emails');
  });
});

describe('curlCommand', () => {
  const folders: string[] = [];
  afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

  function dataDir(name = 'data'): string {
    const folder = mkdtempSync(join(tmpdir(), 'waybill-curl-'));
    folders.push(folder);
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'credentials.json'), JSON.stringify({ liveKey: 'wb_live_abc' }));
    return join(folder, name);
  }

  it('is one line that sends a mail from the domain to the example address', () => {
    const command = curlCommand({ domain: 'waybill.test' }, dataDir(), 3000);
    expect(command).not.toContain('\n');
    expect(command).not.toContain('wb_live');
    const [program, ...args] = words(command);
    expect(program).toBe('curl');
    expect(args).toContain('http://localhost:3000/v1/emails');
    expect(args).toContain('Authorization: Bearer wb_live_abc');
    expect(args).toContain('Content-Type: application/json');
    expect(JSON.parse(args.at(-1) ?? '')).toMatchObject({ from: 'hello@waybill.test', to: ['you@example.com'] });
  });

  it.each(["o'neill $HOME", 'with "quotes" `id`'])('finds the key in a folder called %s', (name) => {
    const args = words(curlCommand({ domain: "o'neill.test" }, dataDir(name), 1));
    expect(args).toContain('Authorization: Bearer wb_live_abc');
    expect(JSON.parse(args.at(-1) ?? '')).toMatchObject({ from: "hello@o'neill.test" });
  });
});
