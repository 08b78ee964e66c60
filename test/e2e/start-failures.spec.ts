import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServiceProcess } from './kit/service-process';

let dataDir: string;
let occupied: Server;
let port: string;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'waybill-start-'));
  occupied = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => occupied.once('listening', resolve));
  port = String((occupied.address() as AddressInfo).port);
});
afterAll(() => {
  occupied.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** A start that fails late must take the embedded database with it. */
describe('a start that fails', () => {
  it.each(['PORT', 'METRICS_PORT', 'INBOUND_SMTP_PORT'])('because %s is taken leaves nothing running', async (name) => {
    await expect(ServiceProcess.start({ WAYBILL_DATA_DIR: dataDir, [name]: port })).rejects.toThrow('EADDRINUSE');
    expect(existsSync(join(dataDir, 'pg18/data/PG_VERSION'))).toBe(true);
    expect(existsSync(join(dataDir, 'pg18/data/postmaster.pid'))).toBe(false);
  });

  it('can be repeated with success', async () => {
    const service = await ServiceProcess.start({ WAYBILL_DATA_DIR: dataDir });
    await service.stop();
    expect(service.exitCode).toBe(0);
  });
});
