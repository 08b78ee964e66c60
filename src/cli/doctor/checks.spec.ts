import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeClock } from '../../../test/doubles/fake-clock';
import { Clock, DatabaseClock, DAY } from '../../common/clock';
import { selfSigned } from '../../common/tls/self-signed';
import { loadConfig } from '../../config/load-config';
import { NotFoundError } from '../../common/errors/app-error';
import { checkCertificate, checkDisk, checkNode, examine, rateFreeSpace, rateSchema, ok } from './checks';
import type { Services } from '../session/cli-session';
import { checkClock, rateClock, rateDatabase, rateQueue } from './database-checks';

const GIBIBYTE = 1024 ** 3;

describe('examine', () => {
  it('names the finding, and makes an error one', async () => {
    expect(await examine('a', () => ok('fine', { n: 1 }))).toEqual({
      name: 'a',
      status: 'ok',
      message: 'fine',
      details: { n: 1 },
    });
    expect(await examine('b', () => Promise.reject(new NotFoundError('It')))).toEqual({
      name: 'b',
      status: 'problem',
      message: 'It not found',
    });
  });
});

describe('checkNode', () => {
  it.each([
    ['20.19.0', 'ok'],
    ['22.1.0', 'ok'],
    ['20.18.3', 'problem'],
    ['18.20.0', 'problem'],
  ])('%s: %s', (version, status) => {
    expect(checkNode(version).status).toBe(status);
  });
});

describe('the disk', () => {
  it.each([
    [10 * GIBIBYTE, 'ok'],
    [GIBIBYTE, 'warning'],
    [GIBIBYTE / 8, 'problem'],
  ])('%d bytes free: %s', (freeBytes, status) => {
    expect(rateFreeSpace(freeBytes, '/x')).toMatchObject({ status, details: { freeBytes } });
  });

  it('is looked at even when the folder is still to be made', async () => {
    expect((await checkDisk('/nonexistent/folder')).details).toMatchObject({ freeBytes: expect.any(Number) });
  });
});

describe('rateClock', () => {
  it.each([
    [0, 'ok'],
    [-999, 'ok'],
    [1_000, 'warning'],
    [-5_000, 'problem'],
  ])('%d ms: %s', (differenceMs, status) => {
    expect(rateClock(differenceMs)).toMatchObject({ status, details: { differenceMs } });
  });

  it('says which one is behind', () => {
    expect(rateClock(-3).message).toBe('the database is 3 ms behind this host');
    expect(rateClock(3).message).toBe('the database is 3 ms ahead of this host');
  });
});

describe('checkClock', () => {
  it('looks at the clock of this host, not at the one that follows the database', async () => {
    const own = new FakeClock();
    const clock = new DatabaseClock(own);
    const databaseNow = new Date(own.now().getTime() + 20_000);
    clock.read({ databaseNow, ownNow: own.now(), monotonicMs: own.monotonicMs(), errorMs: 0 });
    const database = { serverFacts: () => Promise.resolve({ now: databaseNow }) };
    const services = { get: (type: unknown) => (type === Clock ? clock : database) } as Services;
    expect(await checkClock(services)).toMatchObject({ status: 'problem', details: { differenceMs: 20_000 } });
  });
});

describe('rateDatabase', () => {
  const writable = { version: '18.4', versionNumber: 180_004, isReadOnly: false };
  const facts = { ...writable, lowersAllLetters: true, isDurable: true };

  it('wants a recent one that can be written to and knows all letters', () => {
    expect(rateDatabase(facts, true)).toMatchObject({ status: 'ok', message: 'embedded Postgres 18.4' });
    expect(rateDatabase({ ...facts, versionNumber: 130_021 }, false).status).toBe('problem');
    expect(rateDatabase({ ...facts, isReadOnly: true }, false).status).toBe('problem');
    const { status, message } = rateDatabase({ ...facts, lowersAllLetters: false }, false);
    expect([status, message]).toEqual([
      'warning',
      expect.stringContaining('has a locale without letters beyond ASCII'),
    ]);
  });

  it('wants one that keeps what it has committed', () => {
    expect(rateDatabase({ ...facts, isDurable: false }, false)).toMatchObject({
      status: 'warning',
      message: expect.stringContaining('synchronous_commit = off'),
    });
  });
});

describe('rateQueue', () => {
  const counts = { ready: 3, waiting: 2, claimed: 1, held: 0, heldBack: 0, oldestReadySeconds: 301 };
  const measure = { ...counts, workers: 0, crowding: {} };

  it('finds old work without a worker wrong', () => {
    expect(rateQueue(measure).status).toBe('problem');
    expect(rateQueue({ ...measure, workers: 1 }).status).toBe('warning');
    expect(rateQueue({ ...measure, oldestReadySeconds: 299 }).status).toBe('ok');
    expect(rateQueue({ ...measure, ready: 0 }).status).toBe('ok');
  });
});

describe('rateSchema', () => {
  const state = { pending: [], isUsable: true, sentence: 'words' };

  it('has no fault with a current schema, warns of a newer one that serves, and stops at all else', () => {
    expect(rateSchema({ ...state, state: 'current' })).toEqual({
      status: 'ok',
      message: 'words',
      details: { pending: [] },
    });
    for (const usable of ['newer', 'elsewhere'] as const) {
      expect(rateSchema({ ...state, state: usable }).status).toBe('warning');
    }
    for (const unusable of ['newer', 'behind', 'empty', 'elsewhere'] as const) {
      expect(rateSchema({ ...state, state: unusable, isUsable: false }).status).toBe('problem');
    }
  });
});

describe('checkCertificate', () => {
  const folder = mkdtempSync(join(tmpdir(), 'waybill-doctor-'));
  const files = { TLS_CERT_FILE: join(folder, 'cert.pem'), TLS_KEY_FILE: join(folder, 'key.pem') };
  const made = new Date('2026-11-22T00:00:00Z');
  const pair = selfSigned(made);
  const MASTER_KEY = Buffer.alloc(32, 1).toString('base64');
  const check = (env: Record<string, string>, now = made) =>
    checkCertificate(loadConfig({ MASTER_KEY, MAIL_HOST: 'mail.example.org', ...env }), now);
  beforeEach(() => {
    writeFileSync(files.TLS_CERT_FILE, pair.cert);
    writeFileSync(files.TLS_KEY_FILE, pair.key);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is wanted outside of local mode', async () => {
    expect(await check({})).toMatchObject({ status: 'ok' });
    expect(await check({ DELIVERY_MODE: 'direct' })).toMatchObject({ status: 'warning' });
  });

  it.each([
    [0, 'ok'],
    [820, 'warning'],
    [826, 'problem'],
  ])('is rated after %d days of 825 as %s', async (days, status) => {
    expect(await check(files, new Date(made.getTime() + days * DAY))).toMatchObject({ status });
  });

  it('is a problem with the key of another one', async () => {
    writeFileSync(files.TLS_KEY_FILE, selfSigned(made).key);
    expect(await check(files)).toMatchObject({ status: 'problem', message: expect.stringContaining('TLS_KEY_FILE') });
  });
});
