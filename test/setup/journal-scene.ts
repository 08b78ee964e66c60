import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '../../src/common/ids';
import { Metrics } from '../../src/common/metrics/metrics';
import type { AppConfig } from '../../src/config/config';
import type { Settlement } from '../../src/delivery/ports/outcome';
import { type ForeignJournal, ResultJournal } from '../../src/delivery/results/result-journal';

/** A data directory of its own for each test, and the session that writes there. */
class JournalScene {
  readonly metrics = new Metrics();
  dataDir = '';
  sessionId = '';

  /** One process's journal. */
  journal = () => new ResultJournal({ dataDir: this.dataDir } as AppConfig, this.metrics);
  files = () => readdirSync(join(this.dataDir, 'journal')).sort();
  content = (name: string) => readFileSync(join(this.dataDir, 'journal', name), 'utf8');
  linesOf = (name: string) => this.content(name).split('\n').length - 1;
  bytes = () => this.files().reduce((sum, name) => sum + this.content(name).length, 0);
  read = read;
  settlement = (position: number, session = this.sessionId) => settlementOf(position, session);
}

/** Prepares a scene for the tests of a file. */
export function journalScene(): JournalScene {
  const scene = new JournalScene();
  beforeEach(() => {
    scene.dataDir = mkdtempSync(join(tmpdir(), 'waybill-journal-'));
    scene.sessionId = newId();
  });
  afterEach(() => rmSync(scene.dataDir, { recursive: true }));
  return scene;
}

async function read(...journals: readonly (ForeignJournal | undefined)[]): Promise<Settlement[]> {
  const found: Settlement[] = [];
  for (const one of journals) for await (const part of one?.read() ?? []) found.push(...part);
  return found;
}

function settlementOf(position: number, sessionId: string): Settlement {
  const key = { organizationId: 'o', mode: 'live' as const, emailId: 'e', position };
  const claim = {
    ...key,
    ...{ domainId: 'd', recipient: 'a@b.example', destination: 'b.example', category: 'transactional' as const },
    ...{ attempt: 1, crashes: 0, refusals: 0, claimToken: 7, sessionId, expiresAt: null },
    claimedAt: new Date('2026-11-20T10:00:00.123Z'),
    firstDueAt: new Date('2026-11-20T10:00:00.000Z'),
    traceContext: null,
  };
  const outcome = { kind: 'sent' as const, smtp: { code: 250, response: '250 OK at 2026-11-20T10:00:00.000Z' } };
  const occurredAt = new Date('2026-11-20T10:00:01.000Z');
  return {
    claim,
    outcomes: [{ ...key, domainId: 'd', recipient: 'a@b.example', outcome, source: 'smtp', occurredAt }],
  };
}
