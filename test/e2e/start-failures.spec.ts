import { chmodSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '../setup/wait-for';
import { ServiceProcess } from './kit/service-process';

let dataDir: string;
let occupied: Server;
let port: string;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'waybill-start-'));
  // Open to pass through, so that the cluster of a service that root starts lies within, and goes with it.
  chmodSync(dataDir, 0o711);
  occupied = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => occupied.once('listening', resolve));
  port = String((occupied.address() as AddressInfo).port);
});
afterAll(() => {
  occupied.close();
  rmSync(dataDir, { recursive: true, force: true });
});

/** All on one data directory: what a start leaves must not hinder the next. One that fails late takes the database with it. */
describe('a start that fails', () => {
  it('because of Ctrl-C while the database is being made calls it no failure, and the next ones work', async () => {
    const broken = ServiceProcess.launch({ WAYBILL_DATA_DIR: dataDir });
    const isMaking = () => broken.lines.some(({ msg }) => msg.startsWith('creating a database'));
    await waitFor(isMaking, { what: 'initdb' });
    await broken.kill('SIGINT');
    expect(broken.exitCode).toBe(0);
    expect(broken.describe()).not.toMatch(/initdb|"level":"(error|fatal)"|\bat .*\.js:/);
    // A process may have ended before its last line is read.
    await waitFor(() => broken.line('stopped'), { what: 'the last line' });
    expect(broken.lines.at(-1)?.msg).toBe('stopped');
  });

  it.each(['PORT', 'METRICS_PORT', 'INBOUND_SMTP_PORT'])('because %s is taken leaves nothing running', async (name) => {
    const broken = ServiceProcess.launch({ WAYBILL_DATA_DIR: dataDir, [name]: port, DELIVERY_CONCURENCY: '5' });
    await waitFor(() => broken.exitCode !== null, { what: 'its end' });
    expect(broken.exitCode).toBe(1);
    // One line, and no stack.
    const wrong = () => broken.lines.filter(({ level }) => level === 'error' || level === 'fatal');
    await waitFor(() => wrong().length > 0, { what: 'its line' });
    expect(wrong()).toEqual([
      {
        ...{ level: 'fatal', time: expect.anything(), code: 'start_failed' },
        msg: expect.stringContaining(`start failed: ${name}: port ${port} on 127.0.0.1 is in use by another process`),
      },
    ]);
    expect(broken.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: expect.stringContaining('DELIVERY_CONCURENCY is not a setting') }),
    );
    expect(existsSync(join(dataDir, 'pg18/data/PG_VERSION'))).toBe(true);
    // Its last checkpoint may take longer than the process waits for it.
    const isRunning = () => existsSync(join(dataDir, 'pg18/data/postmaster.pid'));
    await waitFor(() => !isRunning(), { what: 'the end of Postgres' });
  });

  it('and fails again while its log is written ends all the same', async () => {
    const preload = join(__dirname, '../doubles/repeated-failures.cjs');
    const unused = 'postgres://waybill@127.0.0.1:9/waybill';
    const broken = ServiceProcess.launch({
      ...{ WAYBILL_DATA_DIR: dataDir, DATABASE_URL: unused, NODE_OPTIONS: `--require ${preload}` },
    });
    await waitFor(() => broken.exitCode !== null, { what: 'its end' });
    expect(broken.exitCode).toBe(1);
    await waitFor(() => broken.line('uncaught exception'), { what: 'its line' });
    expect(broken.lines.filter(({ level }) => level === 'fatal')).toHaveLength(1);
  });

  it('because DNS_PORT is in use is reported as well', async () => {
    const zone = { DKIM_ZONE: 'dkim.waybill.test', DNS_PORT: port };
    await expect(ServiceProcess.start({ WAYBILL_DATA_DIR: dataDir, ...zone })).rejects.toThrow(
      `DNS_PORT: port ${port} on 127.0.0.1 is in use by another process`,
    );
  });

  it('because of its configuration logs a line for each thing to correct', async () => {
    const wrong = { DELIVERY_MODE: 'direct', LOG_LEVEL: 'loud', MAILHOST: 'mail.example.com' };
    const broken = ServiceProcess.launch({ WAYBILL_DATA_DIR: dataDir, ...wrong });
    await waitFor(() => broken.exitCode !== null, { what: 'its end' });
    await waitFor(() => broken.lines.length >= 3, { what: 'its lines' });
    expect(broken.exitCode).toBe(1);
    // A fatal line is written at once, at times before one that is already on its way.
    const lines = broken.lines.map(({ level, code, msg }) => [level, code, msg]);
    expect(lines.sort(([, , one], [, , other]) => String(one).localeCompare(String(other)))).toEqual([
      ['fatal', 'invalid_configuration', expect.stringMatching(/^LOG_LEVEL must be one of/)],
      ['fatal', 'invalid_configuration', expect.stringMatching(/^MAIL_HOST must be set/)],
      [
        'warn',
        'unknown_setting',
        expect.stringMatching(/^MAILHOST is not a setting, and nothing reads it: MAIL_HOST is one/),
      ],
    ]);
    expect(broken.other).toBe('');
  });

  it('because of what only a module finds wrong leaves nothing running either', async () => {
    const broken = ServiceProcess.launch({ WAYBILL_DATA_DIR: dataDir, RATE_LIMITS: '{"sned":5}' });
    await waitFor(() => broken.exitCode !== null, { what: 'its end' });
    expect(broken.exitCode).toBe(1);
    const isNamed = () => broken.lines.some(({ msg }) => msg.startsWith('RATE_LIMITS names the unknown limit'));
    await waitFor(isNamed, { what: 'its line' });
    expect(broken.describe()).not.toMatch(/\bat .*\.js:/);
    const isRunning = () => existsSync(join(dataDir, 'pg18/data/postmaster.pid'));
    await waitFor(() => !isRunning(), { what: 'the end of Postgres' });
  });

  it('can be repeated with success', async () => {
    const service = await ServiceProcess.start({ WAYBILL_DATA_DIR: dataDir });
    await service.stop();
    expect(service.exitCode).toBe(0);
  });
});
