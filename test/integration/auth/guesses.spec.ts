import { randomBytes } from 'node:crypto';
import { ApiKeysRepository } from '../../../src/auth/keys/api-keys.repository';
import { mintKey } from '../../../src/auth/keys/key-format';
import { waitFor } from '../../setup/wait-for';
import { DomainsApp } from '../domains/domains-app';

describe('an address that has guessed a hundred keys', () => {
  let app: DomainsApp;
  beforeAll(async () => {
    app = await DomainsApp.start({ RATE_LIMIT_ENABLED: 'true' });
  });
  afterAll(() => app.close());

  const statusOf = async (headers: Record<string, string>) =>
    (await fetch(`http://127.0.0.1:${app.port}/v1/domains`, { headers })).status;
  const guess = () => statusOf({ authorization: `Bearer ${mintKey('live').key}` });

  it('occupies one connection with further ones, and does not keep out the keys of others there', async () => {
    const acme = await app.owner();
    for (let failures = 0; failures < 100; failures += 1) expect(await guess()).toBe(401);
    expect((await acme.api.get('/v1/domains')).status).toBe(200);

    const keys = app.get(ApiKeysRepository);
    let [underWay, most] = [0, 0];
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const lookUps = jest.spyOn(keys, 'findForAuthentication').mockImplementation(async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      await released;
      underWay -= 1;
      return undefined;
    });
    const guesses = Array.from({ length: 40 }, guess);
    const cookie = `waybill=${randomBytes(32).toString('base64url')}`;
    guesses.push(statusOf({ cookie }));
    await waitFor(() => underWay === 1, { what: 'the first look-up' });
    // Cached a moment ago.
    expect((await acme.api.get('/v1/domains')).status).toBe(200);
    expect(underWay).toBe(1);
    release();
    expect(new Set(await Promise.all(guesses))).toEqual(new Set([429]));
    expect(most).toBe(1);
    lookUps.mockRestore();
    app.clock.advance(5_000);
    expect((await acme.api.get('/v1/domains')).status).toBe(200);
  });

  it('guesses sessions no faster, whether it reads them or signs out', async () => {
    app.clock.advance(61_000);
    const session = async (method: string) => {
      const cookie = `waybill=${randomBytes(32).toString('base64url')}`;
      const headers = { cookie, 'x-waybill-console': '1' };
      return (await fetch(`http://127.0.0.1:${app.port}/console/session`, { method, headers })).status;
    };
    for (let failures = 0; failures < 50; failures += 1) {
      expect([await session('GET'), await session('DELETE')]).toEqual([401, 200]);
    }
    expect([await session('GET'), await session('DELETE'), await guess()]).toEqual([429, 429, 429]);
  });
});
