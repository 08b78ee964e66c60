import { DomainsApp } from '../domains/domains-app';

/** Ten times what a key may. */
const ACCEPTED = 10;

describe('limits of what costs long after its request', () => {
  let app: DomainsApp;
  beforeAll(async () => {
    app = await DomainsApp.start({ RATE_LIMIT_ENABLED: 'true', RATE_LIMITS: '{"gdpr-delete":1,"gdpr-export":1}' });
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
});
