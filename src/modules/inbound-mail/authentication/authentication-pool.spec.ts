import type { Examination } from './authentication-thread';
import { AuthenticationPool } from './authentication-pool';

const TEXTS: Readonly<Record<string, string>> = {
  'sender.example': 'v=spf1 ip4:192.0.2.1 -all',
  'hostile.example': `v=spf1 redirect=a.${'%{h}'.repeat(100)}!`,
};
const MESSAGE = 'From: a@sender.example\r\nSubject: x\r\n\r\nx\r\n';
/** Minutes of the library, each. */
const HOSTILE = [
  ['an SPF record whose macros make a long name', { sender: 'a@hostile.example', helo: 'a'.repeat(2_000) }],
  ['a line with many bare CR', { message: `From: a@sender.example\r\nX: ${'\r'.repeat(46_000)}x\r\n\r\nx` }],
] as const;

function examination({ sender = 'a@sender.example', helo = 'mx.sender.example', message = MESSAGE } = {}): Examination {
  return {
    client: { ip: '192.0.2.1', helo, sender, mta: 'mail.example.org' },
    pieces: (async function* () {
      yield await Promise.resolve(Buffer.from(message));
    })(),
    resolve: (name) => {
      const text = TEXTS[name];
      const failure = Object.assign(new Error('ENOTFOUND'), { code: 'ENOTFOUND' });
      return text === undefined ? Promise.reject(failure) : Promise.resolve([[text]]);
    },
    signal: new AbortController().signal,
  };
}

describe('AuthenticationPool', () => {
  it.each(HOSTILE)('gives up %s, while the event loop and the mail of others go on', async (_what, hostile) => {
    const threads = new AuthenticationPool();
    const spfOf = async (network: string) => {
      const found = await threads.examine(network, examination);
      return found && found.spf && found.spf.status.result;
    };
    expect(await spfOf('192.0.2.1')).toBe('pass');
    let turns = 0;
    const counting = setInterval(() => (turns += 1), 1);
    const given = threads.examine('203.0.113.1', () => examination(hostile));
    const others = await Promise.all(['192.0.2.1', '192.0.2.2', '192.0.2.3'].map(spfOf));
    expect(await given).toBeUndefined();
    clearInterval(counting);
    expect(others).toEqual(['pass', 'pass', 'pass']);
    expect(turns).toBeGreaterThan(10);
    // In the second thread: its own, and one that is not known.
    expect(await Promise.all(['203.0.113.1', '192.0.2.4'].map(spfOf))).toEqual(['pass', 'pass']);
  });
  it('ends the first thread once for all networks of one owner', async () => {
    const threads = new AuthenticationPool();
    const [honest, first, second] = ['192.0.2.1', '8193:3512:1:1', '8193:3512:1:2'] as const;
    for (const network of [honest, first, second]) await threads.examine(network, examination);
    const hostile = HOSTILE[0][1];
    expect(await threads.examine(first, () => examination(hostile))).toBeUndefined();
    const given = threads.examine(second, () => examination(hostile));
    let examined = 0;
    for (let isOver = false; !isOver;) {
      await threads.examine(honest, () => {
        examined += 1;
        return examination();
      });
      examined -= 1;
      isOver = await Promise.race([given.then(() => true), new Promise<false>((next) => setImmediate(next, false))]);
    }
    expect(examined).toBe(0);
  });
});
