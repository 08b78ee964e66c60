import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '../setup/wait-for';
import { ApiClient } from './kit/api-client';
import { ServiceProcess } from './kit/service-process';

const FROM = 'hello@waybill.test';

/** The only database is killed while the service runs, as the kernel does when memory is short. */
describe('kill -9 of the embedded Postgres', () => {
  let dataDir: string;
  let service: ServiceProcess;
  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'waybill-embedded-outage-'));
    // Open to pass through, so that the cluster of a service that root starts lies within, and goes with it.
    chmodSync(dataDir, 0o711);
    service = await ServiceProcess.start({ WAYBILL_DATA_DIR: dataDir });
  });
  afterAll(async () => {
    await service.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const postmasterPid = () => Number(readFileSync(join(dataDir, 'pg18/data/postmaster.pid'), 'utf8').split('\n')[0]);

  it('is repaired by the service itself: what was committed is there, and sending goes on', async () => {
    const { liveKey } = JSON.parse(readFileSync(join(dataDir, 'credentials.json'), 'utf8'));
    const api = new ApiClient(service.port, liveKey);
    const before = await api.send({ from: FROM });
    await api.waitForStatus(before, 'delivered');
    const killed = postmasterPid();
    process.kill(killed, 'SIGKILL');
    const isSaid = (text: string) => service.lines.some(({ msg }) => msg === text);
    await waitFor(() => isSaid('the embedded Postgres is back'), { what: 'Postgres' });
    expect(service.lines).toContainEqual(
      expect.objectContaining({ level: 'error', msg: 'the embedded Postgres is gone: starting it again' }),
    );
    expect(postmasterPid()).not.toBe(killed);

    await waitFor(async () => (await api.get('/health/startup')).status === 200, { what: 'readiness' });
    expect(await api.email(before)).toMatchObject({ status: 'delivered' });
    await api.waitForStatus(await api.send({ from: FROM }), 'delivered');
  });
});
