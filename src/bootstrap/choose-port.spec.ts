import { loadConfig } from '../config/load-config';
import { withChosenPort } from './start-service';

const NEEDED = { DATABASE_URL: 'postgres://localhost/waybill', MASTER_KEY: Buffer.alloc(32, 1).toString('base64') };
const config = (env: Record<string, string>) => loadConfig({ ...NEEDED, PORT: '0', HOST: '127.0.0.1', ...env });

describe('with PORT=0', () => {
  it('links in mail have the port that was chosen', async () => {
    const { http } = await withChosenPort(config({}));
    expect(http.port).toBeGreaterThan(0);
    expect(http.publicUrl).toBe(`http://localhost:${http.port}`);
  });

  it('links lead where the operator says', async () => {
    const { http } = await withChosenPort(config({ PUBLIC_URL: 'https://mail.example.com' }));
    expect(http.publicUrl).toBe('https://mail.example.com');
  });

  it('an address that this machine does not have is left to the listener', async () => {
    const { http } = await withChosenPort(config({ HOST: '192.0.2.1' }));
    expect([http.port, http.publicUrl]).toEqual([0, 'http://localhost:0']);
  });
});

it.each<Record<string, string>>([{ PORT: '3000' }, { WAYBILL_ROLES: 'worker' }])(
  'no port is chosen with %j',
  async (env) => {
    const given = config(env);
    expect(await withChosenPort(given)).toBe(given);
  },
);
