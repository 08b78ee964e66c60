import { addDomain } from '../../factories/tenants';
import { PrivacyScene, type Requester } from './privacy-scene';

const EXPORT = '/v1/gdpr/export';
const ERASURE = '/v1/gdpr/delete-request';
const ADA = 'ada@example.com';

describe('the rules for privacy requests', () => {
  let scene: PrivacyScene;
  let acme: Requester;
  beforeAll(async () => {
    scene = await PrivacyScene.open();
    acme = await scene.requester();
  });
  afterAll(() => scene.close());

  it.each([
    [EXPORT, {}, 'email'],
    [EXPORT, { email: null }, 'email'],
    [EXPORT, { email: 7 }, 'email'],
    [EXPORT, { email: [ADA] }, 'email'],
    [EXPORT, { email: 'ada' }, 'email'],
    [EXPORT, { email: `Ada <${ADA}>` }, 'email'],
    [EXPORT, { email: `${ADA}, bob@example.com` }, 'email'],
    [EXPORT, { email: `ada\0@example.com` }, 'email'],
    [EXPORT, { email: `${'a'.repeat(10_000)}@example.com` }, 'email'],
    [EXPORT, { email: ADA, format: 'xml' }, 'format'],
    [EXPORT, { email: ADA, format: ['json'] }, 'format'],
    [EXPORT, { email: ADA, mode: 'test' }, 'mode'],
    [EXPORT, [], 'body'],
    [ERASURE, { email: ADA }, 'confirmDelete'],
    [ERASURE, { email: ADA, confirmDelete: false }, 'confirmDelete'],
    [ERASURE, { email: ADA, confirmDelete: 'true' }, 'confirmDelete'],
    [ERASURE, { email: 'ada', confirmDelete: true }, 'email'],
    [ERASURE, { email: ADA, confirmDelete: true, reason: 'a'.repeat(501) }, 'reason'],
    [ERASURE, { email: ADA, confirmDelete: true, reason: {} }, 'reason'],
  ])('POST %s refuses %j', async (path, body, field) => {
    const { status, body: answer } = await acme.api.post(path, body);
    expect([status, Object.keys(answer.error?.details?.validation ?? {})]).toEqual([400, [field]]);
    expect((await acme.api.get('/v1/gdpr/status')).body.data.total).toBe(0);
  });

  it.each(['limit=0', 'limit=101', 'limit=x', 'offset=-1', 'offset=99999999999', 'page=2', 'cursor=x', 'cursor='])(
    'GET /v1/gdpr/status refuses %s',
    async (query) => {
      const { status, body } = await acme.api.get(`/v1/gdpr/status?${query}`);
      expect([status, Object.keys(body.error?.details?.validation ?? {})]).toEqual([400, [query.split('=')[0]]]);
    },
  );

  it('an unknown section', async () => {
    const id = await scene.request((await scene.requester()).api, ADA);
    const { status, body } = await acme.api.get(`${EXPORT}/${id}?section=people`);
    expect([status, Object.keys(body.error.details.validation)]).toEqual([400, ['section']]);
  });

  it('keys need the scope, and no domain of their own', async () => {
    const { organizationId, client } = await scene.app.owner();
    const domainId = await addDomain(scene.db, organizationId);
    const [reader, manager] = [await client(['privacy:read']), await client(['privacy:manage'])];
    const bound = await client(['privacy:read', 'privacy:manage'], domainId);
    const id = await scene.request(manager, ADA);
    const refusals = await Promise.all([
      ...[reader.post(EXPORT, { email: ADA }), reader.post(ERASURE, { email: ADA, confirmDelete: true })],
      ...[manager.get('/v1/gdpr/status'), manager.get(`${EXPORT}/${id}`), manager.get(`${ERASURE}/${id}`)],
    ]);
    for (const { status, body } of refusals) {
      expect([status, body.error.code]).toEqual([403, 'insufficient_permissions']);
    }
    const ofBound = await Promise.all([
      ...[bound.post(EXPORT, { email: ADA }), bound.post(ERASURE, { email: ADA, confirmDelete: true })],
      ...[bound.get('/v1/gdpr/status'), bound.get(`${EXPORT}/${id}`), bound.get(`${ERASURE}/${id}`)],
    ]);
    for (const { status, body } of ofBound) {
      expect([status, body.error.code]).toEqual([403, 'domain_not_allowed']);
    }
    expect((await reader.get(`${EXPORT}/${id}`)).status).toBe(200);
  });
});
