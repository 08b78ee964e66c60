import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { newId } from '../../common/ids';
import type { AppConfig } from '../../config/config';
import type { Settlement } from '../ports/outcome';
import { parseJournal, ResultJournal } from './result-journal';

let dataDir: string;
let sessionId: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'waybill-journal-'));
  sessionId = newId();
});
afterEach(() => rmSync(dataDir, { recursive: true }));

/** One process's journal. */
const journal = () => new ResultJournal({ dataDir } as AppConfig);
const files = () => readdirSync(join(dataDir, 'journal')).sort();
const content = (name: string) => readFileSync(join(dataDir, 'journal', name), 'utf8');

function settlement(position: number, session = sessionId): Settlement {
  const key = { organizationId: 'o', mode: 'live' as const, emailId: 'e', position };
  const claim = {
    ...key,
    ...{ domainId: 'd', recipient: 'a@b.example', destination: 'b.example', category: 'transactional' as const },
    ...{ attempt: 1, crashes: 0, claimToken: 7, sessionId: session, expiresAt: null },
    claimedAt: new Date('2026-11-20T10:00:00.123Z'),
    firstDueAt: new Date('2026-11-20T10:00:00.000Z'),
  };
  const outcome = { kind: 'sent' as const, smtp: { code: 250, response: '250 OK at 2026-11-20T10:00:00.000Z' } };
  const occurredAt = new Date('2026-11-20T10:00:01.000Z');
  return {
    claim,
    outcomes: [{ ...key, domainId: 'd', recipient: 'a@b.example', outcome, source: 'smtp', occurredAt }],
  };
}

describe('ResultJournal', () => {
  it('gives the next process what was not committed, as it was, until it is discarded', () => {
    const first = journal();
    first.note(settlement(0));
    first.note(settlement(1));
    const [left] = journal().foreign();
    expect(left?.sessionId).toBe(sessionId);
    expect(left?.read()).toEqual([settlement(0), settlement(1)]);
    expect(journal().foreign()).toHaveLength(1);
    left?.discard();
    expect(journal().foreign()).toEqual([]);
  });

  it('tells its own sessions from those of others, whatever processes they run in', () => {
    const own = journal();
    own.note(settlement(0));
    const other = journal();
    const neighbour = newId();
    other.note(settlement(1, neighbour));
    expect(own.foreign().map((one) => one.sessionId)).toEqual([neighbour]);
    expect(other.foreign().map((one) => one.sessionId)).toEqual([sessionId]);
  });

  it('shows whatever else has the form of a journal, as that of no session', () => {
    mkdirSync(join(dataDir, 'journal'));
    writeFileSync(join(dataDir, 'journal', '17.x.jsonl'), `${JSON.stringify(settlement(3))}\n`);
    writeFileSync(join(dataDir, 'journal', 'notes.txt'), '');
    const found = journal().foreign();
    expect(found.map((one) => one.sessionId)).toEqual(['17.x']);
    expect(found[0]?.read()).toEqual([settlement(3)]);
  });

  it('has nothing left in a journal that another process has removed meanwhile', () => {
    journal().note(settlement(0));
    const [seen] = journal().foreign();
    journal().foreign()[0]?.discard();
    expect(seen?.read()).toEqual([]);
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
    expect(files()).toEqual([`${sessionId}.jsonl`, `${next}.jsonl`]);
    late();
    jest.advanceTimersByTime(60_000);
    expect(files()).toEqual([`${next}.jsonl`]);
    expect(parseJournal(content(`${next}.jsonl`))).toEqual([settlement(1, next)]);
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
    expect(parseJournal(content(`${sessionId}.jsonl`))).toHaveLength(2);
    settled[1]?.();
    jest.advanceTimersByTime(60_000);
    expect(content(`${sessionId}.jsonl`)).toBe('');
    jest.useRealTimers();
  });

  it('stays small while everything is committed', () => {
    const busy = journal();
    for (let round = 0; round < 5_000; round += 1) busy.note(settlement(round))();
    expect(content(`${sessionId}.jsonl`).length).toBeLessThan(1024 * 1024 + 2_000);
  });

  it('leaves out a line that was cut off', () => {
    const whole = JSON.stringify(settlement(0));
    expect(parseJournal(`${whole}\n${whole.slice(0, 50)}`)).toEqual([settlement(0)]);
  });

  it('does without when the directory cannot be written, and says so once', () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
    writeFileSync(join(dataDir, 'journal'), 'in the way');
    const without = journal();
    expect(without.foreign()).toEqual([]);
    for (const position of [0, 1, 2]) without.note(settlement(position))();
    without.end();
    expect(warn).toHaveBeenCalledTimes(1);
    warn.mockRestore();
  });
});
