import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { Metrics, startMetricsServer } from '../../../src/common/metrics/metrics';
import { collectProcessMetrics } from '../../../src/common/metrics/process-metrics';
import { parseExposition } from '../../setup/exposition';
import { waitFor } from '../../setup/wait-for';
import { RawClient, request } from './raw-client';

const HOST = '127.0.0.1';

describe('the metrics listener', () => {
  it('returns text that no browser takes for another type, at its paths only', async () => {
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
    // RFC 9112 section 3.2.2.
    const client = await RawClient.connect(server.port);
    expect((await client.send(request(`GET ${base}/health`)).next()).status).toBe(200);
    client.close();
    await server.close();
  });

  it('shows the lag of the event loop in windows of a second, whose values stand for reads in between', async () => {
    const metrics = new Metrics();
    collectProcessMetrics(metrics.registry);
    const values = async () => {
      const families = parseExposition(await metrics.registry.metrics());
      const lags = families.filter(({ name }) => /^nodejs_eventloop_lag_.+_seconds$/.test(name));
      return lags.map(({ name, samples }) => [name, ...samples.map(({ value }) => value)]);
    };
    const names = (await values()).map(([name]) => [name]);
    expect([names.length, await values()]).toEqual([7, names]);
    const measured = await waitFor(
      async () => {
        const now = await values();
        return now.every((lag) => lag.length === 2) && now;
      },
      { what: 'the first window' },
    );
    expect(measured.flatMap(([, value]) => value).filter((value) => !(Number(value) < 60))).toEqual([]);
    expect(await values()).toEqual(measured);
  });

  it('makes one response at a time, however many requests there are', async () => {
    const made = { now: 0, most: 0, total: 0 };
    const make = async () => {
      made.most = Math.max(made.most, (made.now += 1));
      made.total += 1;
      await new Promise((resolve) => setImmediate(resolve));
      made.now -= 1;
      return { status: 200, body: `<${made.total}>` };
    };
    const routes = { '/slow': make };
    const server = await startMetricsServer({ host: HOST, port: 0, registry: new Metrics().registry, routes });
    const clients = await Promise.all(Array.from({ length: 20 }, () => RawClient.connect(server.port)));
    for (const client of clients) client.send(request('GET /slow').repeat(20));
    for (const client of clients) {
      for (let count = 0; count < 20; count += 1) expect((await client.next()).status).toBe(200);
      client.close();
    }
    expect(made.most).toBe(1);
    expect(made.total).toBeLessThan(200);
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
