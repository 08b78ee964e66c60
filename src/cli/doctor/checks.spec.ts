import { NotFoundError } from '../../common/errors/app-error';
import { examine, ok } from './check';
import { judgeClock, judgeQueue } from './database-checks';
import { checkDisk, checkNode, judgeFreeSpace } from './host-checks';
import { judgePending } from './schema-state';

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
    expect(judgeFreeSpace(freeBytes, '/x')).toMatchObject({ status, details: { freeBytes } });
  });

  it('is looked at even when the folder is still to be made', async () => {
    expect((await checkDisk('/nonexistent/folder')).details).toMatchObject({ freeBytes: expect.any(Number) });
  });
});

describe('judgeClock', () => {
  it.each([
    [0, 'ok'],
    [-999, 'ok'],
    [1_000, 'warning'],
    [-5_000, 'problem'],
  ])('%d ms: %s', (differenceMs, status) => {
    expect(judgeClock(differenceMs)).toMatchObject({ status, details: { differenceMs } });
  });

  it('says which one is behind', () => {
    expect(judgeClock(-3).message).toBe('the database is 3 ms behind this host');
    expect(judgeClock(3).message).toBe('the database is 3 ms ahead of this host');
  });
});

describe('judgeQueue', () => {
  const measure = { ready: 3, waiting: 2, claimed: 1, oldestReadySeconds: 301, workers: 0 };

  it('finds old work without a worker wrong', () => {
    expect(judgeQueue(measure).status).toBe('problem');
    expect(judgeQueue({ ...measure, workers: 1 }).status).toBe('warning');
    expect(judgeQueue({ ...measure, oldestReadySeconds: 299 }).status).toBe('ok');
    expect(judgeQueue({ ...measure, ready: 0 }).status).toBe('ok');
  });
});

describe('judgePending', () => {
  it('tells an empty database from one that is behind', () => {
    expect(judgePending([], 3)).toEqual({
      status: 'ok',
      message: 'the schema is up to date',
      details: { pending: [] },
    });
    expect(judgePending(['A', 'B', 'C'], 3)).toMatchObject({
      status: 'problem',
      message: expect.stringMatching(/^the database is empty: run `waybill migrate`/),
    });
    expect(judgePending(['C'], 3)).toMatchObject({
      status: 'problem',
      message: expect.stringMatching(/older than this build.*C$/),
    });
  });
});
