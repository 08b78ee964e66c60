import { spawnSync } from 'node:child_process';
import { toCurl } from './to-curl';

const NOW = Date.parse('2026-03-04T12:00:00Z');

describe('an email as a curl command', () => {
  const email = {
    ...{ fromEmail: 'a@x.example', fromName: "O'Neill", toEmails: ['b@x.example'], subject: `it's "$(x)" \`y\` \\n !` },
    ...{ tags: [], events: [], recipients: [] },
  };
  const command = (fields: object, text: string) =>
    toCurl(
      { ...email, ...fields } as never,
      { text, headers: { 'X-Order': '7' } },
      { origin: "https://it's.example", nowMs: NOW },
    );
  /** What a shell hands over: the arguments, and the body. */
  const handedOver = (script: string) => {
    const curl = `curl() { printf '%s\\n' "$@" >&2; cat; }\n`;
    const { stdout, stderr } = spawnSync('sh', [], {
      input: curl + script,
      env: { WAYBILL_KEY: 'wb_1' },
      encoding: 'utf8',
    });
    return { args: stderr.trim().split('\n'), body: JSON.parse(stdout) as Record<string, unknown> };
  };

  it('is what a shell reads back, whatever is in it and however long it is', () => {
    const text = `EOF\n${'long '.repeat(40_000)}`;
    const { args, body } = handedOver(command({}, text));
    expect(args.slice(0, 4)).toEqual(['-sS', "https://it's.example/v1/emails", '-H', 'Authorization: Bearer wb_1']);
    expect(body).toEqual({
      ...{ from: { email: 'a@x.example', name: "O'Neill" }, to: ['b@x.example'], subject: email.subject },
      ...{ text, headers: { 'X-Order': '7' } },
    });
    expect(command({}, text)).not.toContain('!');
  });

  it('has the time of an email that is still ahead', () => {
    const at = (scheduledFor: string) => handedOver(command({ scheduledFor }, 'hi')).body.scheduledAt;
    expect(at('2026-03-05T12:00:00Z')).toBe('2026-03-05T12:00:00Z');
    expect(at('2026-03-04T12:00:30Z')).toBeUndefined();
  });
});
