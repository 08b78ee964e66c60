import { Metrics, observeRequests } from './metrics';
import { startMetricsServer } from './metrics-server';

describe('Metrics', () => {
  it('makes each metric once', () => {
    const metrics = new Metrics();
    const options = { name: 'things_total', help: 'Things' };
    expect(metrics.counter(options)).toBe(metrics.counter(options));
  });

  it('asks a gauge for its value when it is read', async () => {
    const metrics = new Metrics();
    let value = 1;
    metrics.gauge({ name: 'depth', help: 'Depth' }, (gauge) => gauge.set(value));
    value = 7;
    expect(await metrics.registry.metrics()).toContain('waybill_depth 7');
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
