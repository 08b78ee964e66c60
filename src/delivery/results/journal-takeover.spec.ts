import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { SECOND } from '../../common/clock';
import { UnavailableError } from '../../common/errors/app-error';
import { newId } from '../../common/ids';
import { Metrics } from '../../common/metrics/metrics';
import type { AppConfig } from '../../config/config';
import type { Settlement } from '../ports/outcome';
import { JournalTakeover } from './journal-takeover';
import { ResultJournal } from './result-journal';

describe('JournalTakeover', () => {
  let dataDir: string;
  let folder: string;
  let clock: FakeClock;
  let tries: number;
  let committed: number[];
  /** Fails for a batch, or lets it be committed. */
  let commit: (positions: readonly number[]) => void;
  let takeover: JournalTakeover;

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'waybill-takeover-'));
    folder = join(dataDir, 'journal');
    mkdirSync(folder);
    clock = new FakeClock();
    tries = 0;
    committed = [];
    commit = () => undefined;
    for (const level of ['log', 'warn', 'error'] as const) jest.spyOn(Logger.prototype, level).mockImplementation();
    const results = {
      commit: async (batch: readonly Settlement[]) => {
        tries += 1;
        const positions = batch.map(({ claim }) => claim.position);
        commit(positions);
        committed.push(...positions);
        return Promise.resolve(batch.length);
      },
    };
    const sessions = { findLeases: () => Promise.resolve(new Map()) };
    const journal = new ResultJournal({ dataDir } as AppConfig, new Metrics());
    takeover = new JournalTakeover(journal, sessions as never, results as never, clock);
  });
  afterEach(() => rmSync(dataDir, { recursive: true }));

  const line = (position: number) => `${JSON.stringify({ claim: { position }, outcomes: [] })}\n`;

  function leave(...positions: readonly number[]): string {
    const name = `${newId()}.jsonl`;
    writeFileSync(join(folder, name), positions.map(line).join(''));
    return name;
  }

  it('settles every file of an ended session, and removes them', async () => {
    const name = leave(1, 2);
    writeFileSync(join(folder, `${name}.2`), line(3));
    await takeover.takeDying();
    expect(committed.sort()).toEqual([1, 2, 3]);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('keeps a journal that could not be read, and settles the others', async () => {
    const unread = `${newId()}.jsonl`;
    mkdirSync(join(folder, unread));
    leave(1);
    await takeover.takeDying();
    expect(committed).toEqual([1]);
    expect(readdirSync(folder)).toEqual([unread]);
  });

  it('keeps a journal until each of its results is committed', async () => {
    const name = leave(1, 2, 3);
    commit = (positions) => {
      if (positions.includes(2)) throw new Error('canceling statement due to conflict');
    };
    await takeover.takeDying();
    expect(committed).toEqual([1, 3]);
    expect(readdirSync(folder)).toEqual([name]);
    commit = () => undefined;
    clock.advance(SECOND);
    await takeover.takeDying();
    expect(committed).toContain(2);
    expect(readdirSync(folder)).toEqual([]);
  });

  it('tries what fails ever more rarely, and what is new at once', async () => {
    leave(1);
    commit = (positions) => {
      if (positions.includes(1)) throw new Error('no such partition');
    };
    for (let second = 0; second < 600; second += 1, clock.advance(SECOND)) await takeover.takeDying();
    expect(tries).toBeLessThan(15);
    leave(2);
    await takeover.takeDying();
    expect(committed).toEqual([2]);
  });

  it('keeps it when the database is away, and says so', async () => {
    const name = leave(1);
    commit = () => {
      throw new UnavailableError('the database is away');
    };
    await expect(takeover.takeDying()).rejects.toThrow(UnavailableError);
    expect(readdirSync(folder)).toEqual([name]);
    commit = () => undefined;
    await takeover.takeDying();
    expect(readdirSync(folder)).toEqual([]);
  });
});
