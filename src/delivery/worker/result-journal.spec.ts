import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AppConfig } from '../../config/config';
import type { Settlement } from '../ports/outcome';
import { parseJournal, ResultJournal } from './result-journal';

let dataDir: string;
beforeEach(() => (dataDir = mkdtempSync(join(tmpdir(), 'waybill-journal-'))));
afterEach(() => rmSync(dataDir, { recursive: true }));

const journal = () => new ResultJournal({ dataDir } as AppConfig);
const files = () => readdirSync(join(dataDir, 'journal'));

function settlement(position: number): Settlement {
  const key = { organizationId: 'o', mode: 'live' as const, emailId: 'e', position };
  const claim = {
    ...key,
    ...{ domainId: 'd', recipient: 'a@b.example', destination: 'b.example', category: 'transactional' as const },
    ...{ attempt: 1, crashes: 0, claimToken: 7, sessionId: 's', expiresAt: null },
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
  it('gives the next process what was not committed, as it was', () => {
    const first = journal();
    first.begin();
    first.note(settlement(0));
    first.note(settlement(1));
    const next = journal().begin();
    expect(next.left).toEqual([settlement(0), settlement(1)]);
    next.discard();
    expect(journal().begin().left).toEqual([]);
  });

  it('leaves the journal of a living neighbour alone', () => {
    journal().begin();
    writeFileSync(join(dataDir, 'journal', `${process.ppid}.x.jsonl`), `${JSON.stringify(settlement(3))}\n`);
    const next = journal().begin();
    expect(next.left).toEqual([]);
    next.discard();
    expect(files()).toContain(`${process.ppid}.x.jsonl`);
  });

  it('leaves nothing behind when everything was committed', () => {
    const kept = journal();
    kept.begin();
    kept.note(settlement(0));
    kept.settled();
    kept.end();
    expect(files()).toEqual([]);
  });

  it('is kept when its process ends with something open', () => {
    const kept = journal();
    kept.begin();
    kept.note(settlement(0));
    kept.end();
    expect(journal().begin().left).toHaveLength(1);
  });

  it('forgets recipients soon after their results are committed, and no others', () => {
    jest.useFakeTimers();
    const idle = journal();
    idle.begin();
    const content = () => readFileSync(join(dataDir, 'journal', files()[0] ?? ''), 'utf8');
    idle.note(settlement(0));
    idle.note(settlement(1));
    idle.settled();
    jest.advanceTimersByTime(60_000);
    expect(parseJournal(content())).toHaveLength(2);
    idle.settled();
    jest.advanceTimersByTime(60_000);
    expect(content()).toBe('');
    jest.useRealTimers();
  });

  it('stays small while everything is committed', () => {
    const busy = journal();
    busy.begin();
    for (let round = 0; round < 5_000; round += 1) {
      busy.note(settlement(round));
      busy.settled();
    }
    const [name] = files();
    expect(readFileSync(join(dataDir, 'journal', name!)).length).toBeLessThan(1024 * 1024 + 2_000);
  });

  it('leaves out a line that was cut off', () => {
    const whole = JSON.stringify(settlement(0));
    expect(parseJournal(`${whole}\n${whole.slice(0, 50)}`)).toEqual([settlement(0)]);
  });

  it('does without when the directory cannot be written', () => {
    writeFileSync(join(dataDir, 'journal'), 'in the way');
    const without = journal();
    expect(without.begin().left).toEqual([]);
    without.note(settlement(0));
    without.settled();
    without.end();
  });
});
