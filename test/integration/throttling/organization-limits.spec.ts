import { ALL_SCOPES } from '../../../src/common/http/scopes';
import { DomainsApp } from '../domains/domains-app';

/** Ten times what a key may. */
const ACCEPTED = 10;

describe('limits of what costs long after its request', () => {
  let app: DomainsApp;
  beforeAll(async () => {
    const limits = { 'gdpr-delete': 1, 'gdpr-export': 1, 'api-key-writes': 1, changes: 3 };
    app = await DomainsApp.start({ RATE_LIMIT_ENABLED: 'true', RATE_LIMITS: JSON.stringify(limits) });
  });
  afterAll(() => app.close());

  it.each(['delete-request', 'export'])('hold for an organization, however many keys it makes: %s', async (route) => {
    const [acme, other] = [await app.owner(), await app.owner('Other')];
    const statuses: number[] = [];
    for (let index = 0; index < ACCEPTED + 3; index += 1) {
      const api = await acme.client(['privacy:manage', 'privacy:read']);
      const body = { email: `a${index}@x.example`, ...(route === 'delete-request' && { confirmDelete: true }) };
      statuses.push((await api.post(`/v1/gdpr/${route}`, body)).status);
    }
    expect(statuses).toEqual([...Array<number>(ACCEPTED).fill(202), 429, 429, 429]);
    const body = { email: 'a@x.example', ...(route === 'delete-request' && { confirmDelete: true }) };
    expect((await other.api.post(`/v1/gdpr/${route}`, body)).status).toBe(202);
  });

  it('leave the keys of a thief to be revoked, and bound what all keys write to the audit log', async () => {
    const [acme, other] = [await app.owner(), await app.owner('Other')];
    const wanted = { name: 'made', mode: 'live', scopes: ['email:read'] };
    const made: string[] = [];
    const attempt = async (n: number) => {
      const thief = await acme.client(ALL_SCOPES);
      const { status, body } = await thief.post('/v1/api-keys', wanted);
      if (status === 201) made.push(body.data.id);
      const notes = await thief.post('/v1/suppressions', { email: `a${n}@x.example`, reason: 'manual' });
      return [status, notes.status, notes.body.error?.details?.scope];
    };
    const attempts = [];
    for (let n = 0; n <= ACCEPTED; n += 1) attempts.push(await attempt(n));
    const changed = [201, 201, undefined];
    const refused = [201, 429, 'changes'];
    const last = [429, 429, 'changes'];
    expect(attempts).toEqual([...Array<unknown>(3).fill(changed), ...Array<unknown>(7).fill(refused), last]);
    for (const id of made) expect((await acme.api.delete(`/v1/api-keys/${id}`)).status).toBe(200);
    const entry = { email: 'a@x.example', reason: 'manual' };
    expect((await other.api.post('/v1/suppressions', entry)).status).toBe(201);
  });
});
