import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { Metrics, startMetricsServer } from '../../../src/common/metrics/metrics';

const HOST = '127.0.0.1';

describe('the metrics listener', () => {
  it('answers text that no browser takes for anything else, at its paths only', async () => {
    const routes = {
      '/health': () => ({ status: 200, body: { status: 'ok' } }),
      '/broken': () => Promise.reject(new Error('secret')),
    };
    const server = await startMetricsServer({ host: HOST, port: 0, registry: new Metrics().registry, routes });
    const base = `http://${HOST}:${server.port}`;
    for (const [path, status] of [
      ['/metrics', 200],
      ['/metrics?name=x', 200],
      ['/', 404],
      ['/toString', 404],
      ['/broken', 500],
    ] as const) {
      // prettier-ignore
      const response = await fetch(base + path);
      expect(response.status).toBe(status);
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(response.headers.get('cache-control')).toBe('no-store');
    }
    expect(await (await fetch(`${base}/broken`)).text()).not.toContain('secret');
    const health = await fetch(`${base}/health`);
    expect([health.headers.get('content-type'), await health.json()]).toEqual(['application/json', { status: 'ok' }]);
    expect((await fetch(`${base}/health`, { method: 'HEAD' })).status).toBe(200);
    expect((await fetch(`${base}/health`, { method: 'POST' })).status).toBe(404);
    await server.close();
  });

  it('names its variable when the port is taken', async () => {
    const occupied = createServer().listen(0, HOST);
    await once(occupied, 'listening');
    const { port } = occupied.address() as AddressInfo;
    const start = startMetricsServer({ host: HOST, port, registry: new Metrics().registry });
    await expect(start).rejects.toThrow(`METRICS_PORT: port ${port} on ${HOST} is in use`);
    occupied.close();
  });
});
