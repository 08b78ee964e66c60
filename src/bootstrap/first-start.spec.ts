import { execFileSync } from 'node:child_process';
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
  const credentials = { organizationId: 'o', domain: 'waybill.test', liveKey: 'wb_live_abc', testKey: 'wb_test_abc' };

  it('is one line that sends a mail from the domain to the example address', () => {
    const command = curlCommand(credentials, 3000);
    expect(command).not.toContain('\n');
    const [program, ...args] = words(command);
    expect(program).toBe('curl');
    expect(args).toContain('http://localhost:3000/v1/emails');
    expect(args).toContain('Authorization: Bearer wb_live_abc');
    expect(JSON.parse(args.at(-1) ?? '')).toMatchObject({ from: 'hello@waybill.test', to: ['you@example.com'] });
  });

  it('survives any content', () => {
    const args = words(curlCommand({ ...credentials, domain: "o'neill.test" }, 1));
    expect(JSON.parse(args.at(-1) ?? '')).toMatchObject({ from: "hello@o'neill.test" });
  });
});
