import { Metrics, observeRequests, type Reading, startMetricsServer } from './metrics';

describe('Metrics', () => {
  it('makes each metric once', () => {
    const metrics = new Metrics();
    const options = { name: 'things_total', help: 'Things' };
    expect(metrics.counter(options)).toBe(metrics.counter(options));
  });

  it('asks a gauge for its value when it is read', async () => {
    const metrics = new Metrics();
    let value = 1;
    metrics.gauge({ name: 'depth', help: 'Depth' }, () => value);
    value = 7;
    expect(await metrics.registry.metrics()).toContain('waybill_depth 7');
  });

  it('has no value for what is not known, and one for each value of a label', async () => {
    const metrics = new Metrics();
    let reading: Reading = undefined;
    metrics.gauge({ name: 'rooms', help: 'Rooms', labels: ['state'] }, () => reading);
    metrics.gauge({ name: 'broken', help: 'Broken' }, () => Promise.reject(new Error('away')));
    metrics.gauge({ name: 'unset', help: 'Unset' });
    const samples = async () => (await metrics.registry.metrics()).match(/^waybill_(rooms|broken|unset).*$/gm);
    expect(await samples()).toBeNull();
    reading = { free: 2, taken: 1 };
    expect(await samples()).toEqual(['waybill_rooms{state="free"} 2', 'waybill_rooms{state="taken"} 1']);
    reading = { free: 3 };
    expect(await samples()).toEqual(['waybill_rooms{state="free"} 3']);
  });

  it('begins counters at 0, where the values of their labels are known', async () => {
    const metrics = new Metrics();
    metrics.counter({ name: 'moves_total', help: 'Moves', labels: { from: ['a', 'b'], to: ['c'] } });
    metrics.counter({ name: 'jumps_total', help: 'Jumps', labels: ['height'] });
    metrics.histogram({ name: 'walk_seconds', help: 'Walks', labels: { mode: ['slow'] }, buckets: [1] });
    const text = await metrics.registry.metrics();
    expect(text.match(/^waybill_(moves|jumps).*$/gm)).toEqual([
      'waybill_moves_total{from="a",to="c"} 0',
      'waybill_moves_total{from="b",to="c"} 0',
    ]);
    expect(text).toContain('waybill_walk_seconds_count{mode="slow"} 0');
  });

  it('counts requests by pattern and passes the line on', async () => {
    const metrics = new Metrics();
    const passed: unknown[] = [];
    const log = observeRequests(metrics, (line) => passed.push(line));
    log({ requestId: 'r', method: 'GET', route: '/v1/x/:id', status: 200, durationMs: 3 });
    log({ requestId: 'r', method: 'FORGED', route: undefined, status: 404, durationMs: 3 });
    const text = await metrics.registry.metrics();
    expect(text).toContain('_count{method="GET",route="/v1/x/:id",status="200"} 1');
    expect(text).toContain('_count{method="",route="",status="404"} 1');
    expect(passed).toHaveLength(2);
  });

  it('counts responses by class from 0 on, without health checks', async () => {
    const metrics = new Metrics();
    const log = observeRequests(metrics, () => undefined);
    const counted = async () =>
      (await metrics.registry.getSingleMetricAsString('waybill_http_responses_total')).match(/"[45]xx"} \d+/g);
    expect(await counted()).toEqual(['"4xx"} 0', '"5xx"} 0']);
    const line = { requestId: 'r', method: 'POST', route: '/v1/emails', status: 503, durationMs: 3 };
    log(line);
    log({ ...line, method: 'GET', route: '/health/startup' });
    log({ ...line, route: undefined, status: 404 });
    expect(await counted()).toEqual(['"4xx"} 1', '"5xx"} 1']);
  });
});

describe('startMetricsServer', () => {
  it('serves GET /metrics and nothing else', async () => {
    const metrics = new Metrics();
    metrics.counter({ name: 'things_total', help: 'Things' }).inc();
    const server = await startMetricsServer({ host: '127.0.0.1', port: 0, registry: metrics.registry });
    const url = `http://127.0.0.1:${server.port}`;
    const response = await fetch(`${url}/metrics`);
    expect(response.headers.get('content-type')).toContain('text/plain');
    expect(await response.text()).toContain('waybill_things_total 1');
    expect((await fetch(`${url}/`)).status).toBe(404);
    expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(404);
    await server.close();
  });

  it('rejects when the port is taken', async () => {
    const { registry } = new Metrics();
    const server = await startMetricsServer({ host: '127.0.0.1', port: 0, registry });
    await expect(startMetricsServer({ host: '127.0.0.1', port: server.port, registry })).rejects.toThrow(/EADDRINUSE/);
    await server.close();
  });
});
