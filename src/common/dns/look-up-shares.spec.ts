import { setImmediate as nextTurn } from 'node:timers/promises';
import { MINUTE } from '../clock';
import { type Lane, LookUpShares, type WeighedReply } from './look-up-shares';

interface Begun {
  readonly holder: string;
  readonly lane: Lane;
  readonly reply: (records: number) => Promise<void>;
}

function setUp() {
  const begun: Begun[] = [];
  const clock = { ms: 0 };
  const shares = new LookUpShares(() => clock.ms);
  const ask = (holder: string, signal?: AbortSignal) =>
    shares.run(
      holder,
      (lane) =>
        new Promise<WeighedReply<string>>((resolve) => {
          const reply = async (records: number) => {
            begun.splice(begun.indexOf(one), 1);
            resolve({ found: holder, records });
            await nextTurn();
          };
          const one = { holder, lane, reply };
          begun.push(one);
        }),
      signal,
    );
  const askOften = async (holder: string, times: number) => {
    for (let time = 0; time < times; time += 1) void ask(holder);
    await nextTurn();
  };
  const of = (holder: string) => begun.filter((one) => one.holder === holder);
  return { begun, clock, ask, askOften, of };
}

const ORDINARY = 5;
const LONG = 2_700;

describe('LookUpShares', () => {
  it('has few of a holder under way at first, one more with each reply of the usual length, and 32 at most', async () => {
    const { askOften, of } = setUp();
    await askOften('one', 200);
    const counts: number[] = [of('one').length];
    for (let time = 0; time < 40; time += 1) {
      await of('one')[0]?.reply(ORDINARY);
      counts.push(of('one').length);
    }
    expect(counts.slice(0, 3)).toEqual([4, 5, 6]);
    expect(Math.max(...counts)).toBe(32);
    expect(counts.at(-1)).toBe(32);
  });

  it('has two of a holder under way after a long reply, in the thread of such holders, for ten minutes', async () => {
    const { askOften, of, clock } = setUp();
    await askOften('noisy', 200);
    while (of('noisy').length < 10) await of('noisy')[0]?.reply(ORDINARY);
    await of('noisy')[0]?.reply(LONG);
    for (const one of of('noisy').filter(({ lane }) => lane === 'usual')) await one.reply(ORDINARY);
    expect(of('noisy').map(({ lane }) => lane)).toEqual(['slow', 'slow']);
    clock.ms += 10 * MINUTE;
    await of('noisy')[0]?.reply(ORDINARY);
    expect(of('noisy').length).toBeGreaterThanOrEqual(4);
    expect(of('noisy').at(-1)?.lane).toBe('usual');
  });

  it('leaves others in their thread', async () => {
    const { askOften, of } = setUp();
    await askOften('noisy', 10);
    await of('noisy')[0]?.reply(LONG);
    await askOften('quiet', 1);
    expect(of('quiet').map(({ lane }) => lane)).toEqual(['usual']);
  });

  it('leaves places for further holders beside those with much to look up', async () => {
    const { begun, askOften, of } = setUp();
    for (let holder = 0; holder < 15; holder += 1) {
      await askOften(`holder ${holder}`, 100);
      for (let time = 0; time < 28; time += 1) await of(`holder ${holder}`)[0]?.reply(ORDINARY);
    }
    expect(begun.length).toBeLessThan(512);
    await askOften('further', 1);
    expect(of('further')).toHaveLength(1);
  });

  it('serves what waits in turn', async () => {
    const { askOften, of } = setUp();
    await askOften('one', 20);
    await askOften('other', 20);
    const first = of('one')[0];
    await first?.reply(LONG);
    expect([of('one').length, of('other').length]).toEqual([3, 4]);
    await of('other')[0]?.reply(ORDINARY);
    expect([of('one').length, of('other').length]).toEqual([3, 5]);
  });

  it('forgets what is called off while it waits', async () => {
    const { ask, askOften, of } = setUp();
    await askOften('one', 4);
    const ending = new AbortController();
    const waiting = ask('one', ending.signal);
    ending.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'ECANCELLED' });
    await expect(ask('one', ending.signal)).rejects.toMatchObject({ code: 'ECANCELLED' });
    await of('one')[0]?.reply(ORDINARY);
    expect(of('one')).toHaveLength(3);
  });

  it('begins none that is called off in the turn in which it is asked for', async () => {
    const { ask, of } = setUp();
    const ending = new AbortController();
    const asked = ask('one', ending.signal);
    ending.abort();
    await expect(asked).rejects.toMatchObject({ code: 'ECANCELLED' });
    expect(of('one')).toEqual([]);
  });

  it('begins nothing that is called off already, with a place free or not', async () => {
    const { ask, askOften, of } = setUp();
    const over = AbortSignal.abort();
    await expect(ask('one', over)).rejects.toMatchObject({ code: 'ECANCELLED' });
    await askOften('one', 4);
    await expect(ask('one', over)).rejects.toMatchObject({ code: 'ECANCELLED' });
    await of('one')[0]?.reply(ORDINARY);
    expect(of('one')).toHaveLength(3);
  });

  it('refuses what would only fill memory', async () => {
    const { ask, askOften } = setUp();
    await askOften('one', 2_004);
    await expect(ask('one')).rejects.toMatchObject({ code: 'EBUSY' });
  });
});
