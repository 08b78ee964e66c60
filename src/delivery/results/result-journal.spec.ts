import { constants } from 'node:buffer';
import fs, { appendFileSync, chmodSync, mkdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { journalScene } from '../../../test/setup/journal-scene';
import { newId } from '../../common/ids';

const scene = journalScene();
const { journal, files, content, linesOf, read, settlement } = scene;

describe('ResultJournal', () => {
  it('gives the next process what was not committed, as it was, until it is discarded', async () => {
    const first = journal();
    first.note(settlement(0));
    first.note(settlement(1));
    const [left] = journal().foreign();
    expect(left?.sessionId).toBe(scene.sessionId);
    expect(await read(left)).toEqual([settlement(0), settlement(1)]);
    expect(journal().foreign()).toHaveLength(1);
    left?.discard();
    expect(journal().foreign()).toEqual([]);
  });

  it('distinguishes its own sessions from those of others, whatever processes they run in', () => {
    const own = journal();
    own.note(settlement(0));
    const other = journal();
    const neighbour = newId();
    other.note(settlement(1, neighbour));
    expect(own.foreign().map((one) => one.sessionId)).toEqual([neighbour]);
    expect(other.foreign().map((one) => one.sessionId)).toEqual([scene.sessionId]);
  });

  it('shows whatever else has the form of a journal, as that of no session', async () => {
    mkdirSync(join(scene.dataDir, 'journal'));
    writeFileSync(join(scene.dataDir, 'journal', '17.x.jsonl'), `${JSON.stringify(settlement(3))}\n`);
    writeFileSync(join(scene.dataDir, 'journal', 'notes.txt'), '');
    const found = journal().foreign();
    expect(found.map((one) => one.sessionId)).toEqual(['17.x']);
    expect(await read(found[0])).toEqual([settlement(3)]);
  });

  it('has nothing left in a journal that another process has removed meanwhile', async () => {
    journal().note(settlement(0));
    const [seen] = journal().foreign();
    journal().foreign()[0]?.discard();
    expect(await read(seen)).toEqual([]);
  });

  it('leaves nothing behind when everything was committed', () => {
    const kept = journal();
    kept.note(settlement(0))();
    kept.end();
    expect(files()).toEqual([]);
  });

  it('is kept when its process ends with something open', () => {
    const kept = journal();
    kept.note(settlement(0));
    kept.note(settlement(1))();
    kept.end();
    expect(journal().foreign()).toHaveLength(1);
  });

  it('goes on with the next session, and ends the file of the one before with its last result', () => {
    jest.useFakeTimers();
    const kept = journal();
    const late = kept.note(settlement(0));
    const next = newId();
    kept.note(settlement(1, next));
    jest.advanceTimersByTime(60_000);
    expect(files()).toEqual([`${scene.sessionId}.jsonl`, `${next}.jsonl`]);
    late();
    jest.advanceTimersByTime(60_000);
    expect(files()).toEqual([`${next}.jsonl`]);
    expect(JSON.parse(content(`${next}.jsonl`))).toEqual(JSON.parse(JSON.stringify(settlement(1, next))));
    // A reply that came even later.
    kept.note(settlement(2))();
    jest.advanceTimersByTime(60_000);
    expect(files()).toEqual([`${next}.jsonl`]);
    jest.useRealTimers();
  });

  it('forgets recipients soon after their results are committed, and no others', () => {
    jest.useFakeTimers();
    const idle = journal();
    const settled = [0, 1].map((position) => idle.note(settlement(position)));
    settled[0]?.();
    jest.advanceTimersByTime(60_000);
    expect(linesOf(`${scene.sessionId}.jsonl`)).toBe(2);
    settled[1]?.();
    jest.advanceTimersByTime(60_000);
    expect(content(`${scene.sessionId}.jsonl`)).toBe('');
    jest.useRealTimers();
  });

  it('stays small while everything is committed', () => {
    const busy = journal();
    for (let round = 0; round < 5_000; round += 1) busy.note(settlement(round))();
    expect(content(`${scene.sessionId}.jsonl`).length).toBeLessThan(1024 * 1024 + 2_000);
  });

  describe('read by another process', () => {
    const path = () => join(scene.dataDir, 'journal', `${scene.sessionId}.jsonl`);
    const line = (position: number) => JSON.stringify(settlement(position));
    beforeEach(() => mkdirSync(join(scene.dataDir, 'journal')));

    it('leaves out a line that was cut off, and what is no result', async () => {
      writeFileSync(path(), `${line(0)}\nnull\n7\n{}\n\n${line(1)}\n${line(2).slice(0, 50)}`);
      expect(await read(...journal().foreign())).toEqual([settlement(0), settlement(1)]);
    });

    it('has every line of a file that is read in many pieces, whatever characters lie between them', async () => {
      const all = Array.from({ length: 2_000 }, (_, position) => settlement(position, `${scene.sessionId}-é€😀`));
      writeFileSync(path(), all.map((one) => `${JSON.stringify(one)}\n`).join(''));
      expect(await read(...journal().foreign())).toEqual(all);
    });

    it('may be longer than a string can be, as an earlier release left it', async () => {
      writeFileSync(path(), `${line(0)}\n`);
      truncateSync(path(), constants.MAX_STRING_LENGTH + 1);
      appendFileSync(path(), `\n${line(1)}\n`);
      expect(await read(...journal().foreign())).toEqual([settlement(0), settlement(1)]);
    });

    it('says so when it cannot be read, which is not the same as empty', async () => {
      mkdirSync(path());
      await expect(read(...journal().foreign())).rejects.toThrow('EISDIR');
    });
  });

  it('does without when the directory cannot be written, says so once, at the start, counts each, and goes on later', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    const failures = async () =>
      /^waybill_journal_failures_total (\d+)$/m.exec(await scene.metrics.registry.metrics())?.[1];
    const before = Number(await failures());
    writeFileSync(join(scene.dataDir, 'journal'), 'in the way');
    const without = journal();
    without.onModuleInit();
    expect(warn).toHaveBeenCalledTimes(1);
    expect(without.foreign()).toEqual([]);
    for (const position of [0, 1, 2]) without.note(settlement(position))();
    expect(warn).toHaveBeenCalledTimes(1);
    // What the alert WaybillJournalFails looks at.
    expect(Number(await failures())).toBe(before + 3);
    rmSync(join(scene.dataDir, 'journal'));
    without.note(settlement(3));
    expect(files()).toHaveLength(1);
    without.end();
    expect(Number(await failures())).toBe(before + 3);
    warn.mockRestore();
  });

  it('is for its own user only, also where it was left open', () => {
    mkdirSync(join(scene.dataDir, 'journal'), { mode: 0o755 });
    const old = join(scene.dataDir, 'journal', `${newId()}.jsonl`);
    writeFileSync(old, '', { mode: 0o644 });
    chmodSync(join(scene.dataDir, 'journal'), 0o755);
    journal().note(settlement(0));
    const modeOf = (path: string) => statSync(path).mode & 0o777;
    expect(modeOf(join(scene.dataDir, 'journal'))).toBe(0o700);
    expect(modeOf(old)).toBe(0o600);
    expect(modeOf(join(scene.dataDir, 'journal', `${scene.sessionId}.jsonl`))).toBe(0o600);
  });

  describe('on a full disk', () => {
    const full = () => Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    const failures = async () =>
      (await scene.metrics.registry.getSingleMetric('waybill_journal_failures_total')?.get())?.values;
    let told: jest.SpyInstance;
    beforeEach(() => (told = jest.spyOn(Logger.prototype, 'error').mockImplementation()));
    afterEach(() => jest.restoreAllMocks());

    /** The disk takes that many bytes of the next line. */
    const takeOnly = (bytes: number) => {
      const { writeSync } = fs;
      jest.spyOn(fs, 'writeSync').mockImplementationOnce((descriptor, line) => {
        if (bytes === 0) throw full();
        return writeSync(descriptor, (line as unknown as Buffer).subarray(0, bytes));
      });
    };

    it.each([0, 1, 100])(
      'says so, and removes the %d bytes that it took, so that no other note is spoilt',
      async (bytes) => {
        const kept = journal();
        kept.note(settlement(0));
        takeOnly(bytes);
        const settled = kept.note(settlement(1));
        kept.note(settlement(2));
        expect(await read(journal().foreign()[0])).toEqual([settlement(0), settlement(2)]);
        expect(told).toHaveBeenCalledTimes(1);
        expect(told.mock.calls[0]?.[0]).toMatch(/is sent again if this process is killed now: the disk of .* is full/);
        expect((await failures())?.[0]?.value).toBeGreaterThan(0);
        settled();
      },
    );

    it('loses only the part that it cannot remove', async () => {
      const kept = journal();
      kept.note(settlement(0));
      for (const [position, bytes] of [100, 50].entries()) {
        takeOnly(bytes);
        jest.spyOn(fs, 'ftruncateSync').mockImplementationOnce(() => {
          throw full();
        });
        kept.note(settlement(10 + position));
        kept.note(settlement(1 + position));
      }
      expect(await read(journal().foreign()[0])).toEqual([settlement(0), settlement(1), settlement(2)]);
    });
  });

  it('writes through to the disk what is open for a second, its name in the folder too, and nothing else', async () => {
    jest.useFakeTimers();
    const sync = jest.spyOn(fs, 'fdatasync');
    const steady = journal();
    for (let position = 0; position < 10; position += 1) {
      const settled = steady.note(settlement(position));
      jest.advanceTimersByTime(900);
      settled();
    }
    expect(sync).not.toHaveBeenCalled();
    steady.note(settlement(10));
    jest.advanceTimersByTime(2_000);
    expect(sync).toHaveBeenCalledTimes(1);
    jest.useRealTimers();
    await new Promise((resolve) => setImmediate(resolve));
    sync.mockRestore();
    steady.end();
    expect(await read(journal().foreign()[0])).toContainEqual(settlement(10));
  });
});
