import fs, { statSync } from 'node:fs';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { journalScene } from '../../../test/setup/journal-scene';
import type { ResultJournal } from './result-journal';

const scene = journalScene();
const { journal, files, content, bytes, read, settlement } = scene;

describe('under a steady load, in which something is always open', () => {
  const FULL = 1024 * 1024;
  const LINE = 2_000;

  /** The next acceptance is noted before the one before is committed. Returns what settles the last one. */
  function keepBusy(busy: ResultJournal, rounds: number, watch: () => void): () => void {
    let before = busy.note(settlement(0));
    for (let round = 1; round < rounds; round += 1) {
      const settled = busy.note(settlement(round));
      before();
      before = settled;
      if (round % 500 === 0) watch();
    }
    return before;
  }

  it('stays small, and holds what is open', async () => {
    const busy = journal();
    keepBusy(busy, 8_000, () => expect(bytes()).toBeLessThan(2 * FULL + LINE));
    const left = await read(...journal().foreign());
    expect(left).toContainEqual(settlement(7_999));
    expect(left).not.toContainEqual(settlement(0));
    busy.end();
    expect(files()).toHaveLength(1);
  });

  it('keeps the file of a result that waits for long, and no others', async () => {
    const busy = journal();
    const late = busy.note(settlement(100_000));
    const last = keepBusy(busy, 12_000, () => expect(bytes()).toBeLessThan(3 * FULL + LINE));
    expect(files()[0]).toBe(`${scene.sessionId}.jsonl`);
    expect(
      new Set(
        journal()
          .foreign()
          .map((one) => one.sessionId),
      ),
    ).toEqual(new Set([scene.sessionId]));
    expect(await read(...journal().foreign())).toContainEqual(settlement(100_000));
    late();
    expect(files()).not.toContain(`${scene.sessionId}.jsonl`);
    last();
    busy.end();
    expect(files()).toEqual([]);
  });

  it('is for its own user only, in every file', () => {
    const busy = journal();
    busy.note(settlement(100_000));
    keepBusy(busy, 3_000, () => undefined);
    expect(files().length).toBeGreaterThan(1);
    for (const name of files()) expect(statSync(join(scene.dataDir, 'journal', name)).mode & 0o777).toBe(0o600);
  });

  it('goes on in the full file when there can be no other', async () => {
    const told = jest.spyOn(Logger.prototype, 'error').mockImplementation();
    const busy = journal();
    const late = busy.note(settlement(100_000));
    const open = jest.spyOn(fs, 'openSync').mockImplementation(() => {
      throw Object.assign(new Error('too many open files'), { code: 'EMFILE' });
    });
    keepBusy(busy, 3_000, () => undefined)();
    open.mockRestore();
    expect(files()).toEqual([`${scene.sessionId}.jsonl`]);
    expect(await read(...journal().foreign())).toHaveLength(3_001);
    late();
    expect(content(`${scene.sessionId}.jsonl`)).toBe('');
    expect(told).not.toHaveBeenCalled();
  });

  it('leaves its files alone once it has ended', () => {
    const busy = journal();
    const late = busy.note(settlement(100_000));
    const last = keepBusy(busy, 3_000, () => undefined);
    busy.end();
    const kept = files();
    late();
    last();
    expect(files()).toEqual(kept);
    expect(kept).toHaveLength(2);
  });
});
