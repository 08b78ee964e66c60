import { FairLimit, FairStarts, FairTurns, piecesInTurns, WorkTurns } from './fair-turns';
import { loopTurnsOf } from '../../../test/setup/loop-turns';
import { TooManyAtATimeError } from '../errors/app-error';

describe('FairTurns', () => {
  /** Does so many pieces of work, and writes down each. */
  async function work(turns: FairTurns, holder: string, pieces: number, done: string[]): Promise<void> {
    for (let piece = 0; piece < pieces; piece += 1) {
      await turns.next(holder);
      done.push(holder);
    }
  }

  it('gives every second piece to the one body beside twenty of another holder', async () => {
    const turns = new FairTurns();
    const done: string[] = [];
    const many = Array.from({ length: 20 }, () => work(turns, 'a', 10, done));
    await work(turns, 'b', 10, done);
    expect(done.length).toBeLessThanOrEqual(21);
    await Promise.all(many);
    expect(done).toHaveLength(210);
  });

  it('does one piece in a turn of the event loop, however much waits', async () => {
    const turns = new FairTurns();
    const loopTurns = await loopTurnsOf(() =>
      Promise.all(['a', 'b', 'c'].map((holder) => work(turns, holder, 10, []))),
    );
    expect(loopTurns).toBeGreaterThanOrEqual(30);
  });
});

describe('FairStarts', () => {
  afterEach(() => jest.restoreAllMocks());

  /** A clock that goes on by what each piece takes. */
  const pieces = (starts: FairStarts, takesMs: number, holders: readonly string[]) => {
    let nowMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const begun: string[] = [];
    const begin = async (holder: string) => {
      const turn = starts.next(holder);
      if (turn) await turn;
      begun.push(holder);
      nowMs += takesMs;
    };
    const work = () => Promise.all(holders.map(begin));
    return { work, begun };
  };

  it('begins long pieces that come together one in a turn, and another holder second', async () => {
    const starts = new FairStarts();
    const { work, begun } = pieces(starts, 1, [...Array<string>(40).fill('loud'), 'quiet']);
    expect(await loopTurnsOf(work)).toBeGreaterThanOrEqual(38);
    expect(begun.indexOf('quiet')).toBeLessThanOrEqual(2);
    expect(starts.next('loud')).toBeUndefined();
  });

  it('begins what comes first before all that wait, and at once while a turn has time', async () => {
    const starts = new FairStarts();
    const { begun } = pieces(starts, 0, []);
    const begin = async (name: string, isFirst: boolean) => {
      await starts.next('loud', isFirst);
      begun.push(name);
    };
    let nowMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    expect(starts.next('loud')).toBeUndefined();
    nowMs = 1;
    const all = [begin('new', false), begin('newer', false), begin('reply', true)];
    nowMs = 0.1;
    expect(starts.next('loud', true)).toBeUndefined();
    await Promise.all(all);
    expect(begun).toEqual(['reply', 'new', 'newer']);
  });

  it('begins short ones several in a turn', async () => {
    const { work, begun } = pieces(new FairStarts(), 0.1, Array<string>(40).fill('loud'));
    expect(await loopTurnsOf(work)).toBeLessThanOrEqual(12);
    expect(begun).toHaveLength(40);
  });

  it('begins for as long in a turn as its limits say, and of what waited as many', async () => {
    const turnsWith = async (most: number, turnMs: number): Promise<number> => {
      const { work } = pieces(new FairStarts({ most, turnMs }), 0.1, Array<string>(40).fill('loud'));
      return loopTurnsOf(work);
    };
    expect(await turnsWith(40, 100)).toBe(0);
    expect(await turnsWith(40, 2)).toBeLessThanOrEqual(5);
    expect(await turnsWith(2, 2)).toBeGreaterThanOrEqual(10);
    expect(await turnsWith(40, 0.2)).toBeGreaterThanOrEqual(15);
  });
});

describe('WorkTurns', () => {
  it('does what takes a millisecond in a turn', async () => {
    const loop = new FairTurns();
    const next = jest.spyOn(loop, 'next');
    const turns = new WorkTurns('a', loop);
    let nowMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => (nowMs += 0.1));
    for (let piece = 0; piece < 100; piece += 1) await turns.next();
    expect(next.mock.calls.length).toBeGreaterThan(5);
    expect(next.mock.calls.length).toBeLessThan(30);
    expect(next).toHaveBeenCalledWith('a');
  });

  it('maps a list in the same turns, by what its elements take and not by their number', async () => {
    let nowMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const turnsFor = async (takesMs: number) => {
      const turns = new WorkTurns('a', new FairTurns(), 5);
      let mapped: number[] = [];
      const work = async () => {
        mapped = await turns.map([...Array(20).keys()], (element) => ((nowMs += takesMs), 2 * element));
      };
      const taken = await loopTurnsOf(work);
      expect(mapped).toEqual([...Array(20).keys()].map((element) => 2 * element));
      return taken;
    };
    expect(await turnsFor(0.1)).toBeLessThanOrEqual(3);
    expect(await turnsFor(5)).toBeGreaterThanOrEqual(20);
  });
});

describe('piecesInTurns', () => {
  it('covers the whole, in turns only when there are several pieces', async () => {
    const ranges = [];
    for await (const range of piecesInTurns(10, 4, 'a')) ranges.push(range);
    expect(ranges).toEqual([
      { start: 0, end: 4 },
      { start: 4, end: 8 },
      { start: 8, end: 10 },
    ]);
    for await (const range of piecesInTurns(0, 4, 'a')) ranges.push(range);
    expect(ranges).toHaveLength(3);
  });
});

/** Work that goes on until it is let go. */
function start(limit: FairLimit, holder: string, count: number) {
  const running: (() => void)[] = [];
  const results = Array.from({ length: count }, () =>
    limit.run(holder, () => new Promise<void>((resolve) => running.push(resolve))),
  );
  return { running, results };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('FairLimit', () => {
  it('runs few of one holder at a time, and another one’s beside them', async () => {
    const limit = new FairLimit(Infinity, { atATime: 2, waiting: 10 });
    const [many, other] = [start(limit, 'a', 5), start(limit, 'b', 1)];
    await settled();
    expect([many.running.length, other.running.length]).toEqual([2, 1]);
    many.running[0]?.();
    await settled();
    expect(many.running).toHaveLength(3);
  });

  it('runs one of each by itself, and refuses what waits too long', async () => {
    const limit = new FairLimit(4);
    const { running, results } = start(limit, 'a', 22);
    await expect(results.at(-1)).rejects.toThrow(TooManyAtATimeError);
    await settled();
    expect(running).toHaveLength(1);
  });
});
