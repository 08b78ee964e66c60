import { Metrics } from '../metrics/metrics';
import { createLogger } from './logger';
import { logRequestsTo } from './request-log';

describe('the log of requests', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  const LINE = { requestId: 'r', method: 'GET', route: '/x', status: 200, durationMs: 1, organizationId: 'acme' };
  const open = () => {
    const lines: Record<string, unknown>[] = [];
    const write = (text: string): void => void lines.push(JSON.parse(text) as Record<string, unknown>);
    const metrics = new Metrics();
    const log = logRequestsTo(createLogger({ level: 'info', destination: { write } }), metrics);
    return { lines, metrics, log };
  };

  it('has errors at level error and all else at info', () => {
    const { lines, log } = open();
    log(LINE);
    log({ ...LINE, status: 500, err: new Error('x') });
    expect(lines).toMatchObject([
      { level: 'info', msg: 'request', requestId: 'r' },
      { level: 'error', msg: 'request failed', err: { message: 'x' } },
    ]);
  });

  it('sums up what an organization has refused beyond its share, and has all else of it and of others', async () => {
    const { lines, metrics, log } = open();
    for (let count = 0; count < 150; count += 1) log({ ...LINE, status: 429 });
    expect(lines.splice(0)).toHaveLength(100);
    for (let count = 0; count < 150; count += 1) log(LINE);
    log({ ...LINE, status: 429, organizationId: 'globex' });
    log({ ...LINE, status: 500, err: new Error('x') });
    expect(lines.splice(0)).toHaveLength(152);
    jest.advanceTimersByTime(10_000);
    expect(lines.splice(0)).toEqual([
      {
        ...{ level: 'warn', time: expect.any(String), msg: 'requests not logged one by one' },
        ...{ organizationId: 'acme', status: '4xx', logged: 100, leftOut: 50, seconds: 10 },
      },
    ]);
    expect(await metrics.registry.metrics()).toContain('waybill_log_request_lines_left_out_total 50');
    log({ ...LINE, status: 429 });
    expect(lines).toHaveLength(1);
  });

  it('has a share for each route that clients without a key call, and one for paths of no route', () => {
    const { lines, log } = open();
    const anonymous = { ...LINE, organizationId: undefined };
    for (let count = 0; count < 1_200; count += 1) log({ ...anonymous, route: undefined, path: '/.env', status: 404 });
    log({ ...anonymous, route: '/health' });
    log({ ...anonymous, operatorKeyId: 'k' });
    expect(lines.splice(0)).toHaveLength(1_002);
    jest.advanceTimersByTime(10_000);
    expect(lines).toMatchObject([{ leftOut: 200, logged: 1_000 }]);
  });
});
