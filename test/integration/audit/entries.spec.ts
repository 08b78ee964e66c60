import { MINUTE } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import { RefusedAccessService } from '../../../src/auth/keys/refused-access.service';
import { OrganizationsService } from '../../../src/auth/organizations/organizations.service';
import type { Owner } from '../domains/domains-app';
import { addDomain } from '../../factories/tenants';
import { waitFor } from '../../setup/wait-for';
import { AuditScene } from './audit-scene';

let scene: AuditScene;
let acme: Owner;

beforeAll(async () => (scene = await AuditScene.start()));
beforeEach(async () => (acme = await scene.app.owner()));
afterAll(() => scene.close());

const first = async (query: string) => (await scene.entries(acme, query))[0];

describe('changes of keys', () => {
  it('name the key that made them', async () => {
    const wanted = { name: 'Ada', mode: 'test', scopes: ['email:send'], expiresAt: '2030-01-01T00:00:00Z' };
    const { body } = await acme.api.post('/v1/api-keys', wanted);
    const { id } = body.data;
    expect(await first('?action=api_key.created')).toMatchObject({
      ...{ actor: acme.keyId, targetType: 'api_key', targetId: id },
      data: { mode: 'test', scopes: ['email:send'], expiresAt: '2030-01-01T00:00:00.000Z' },
    });
    await acme.api.delete(`/v1/api-keys/${id}`);
    await acme.api.delete(`/v1/api-keys/${id}`);
    expect(await scene.entries(acme, '?action=api_key.revoked')).toMatchObject([
      { actor: acme.keyId, targetId: id, data: { mode: 'test' } },
    ]);
  });

  it('are written down for a key that goes with its domain', async () => {
    await acme.api.post('/v1/domains', { domain: 'default.example' });
    const domainId = await addDomain(scene.app.db, acme.organizationId);
    const bound = [await scene.key(acme, { domainId }), await scene.key(acme, { domainId })];
    await scene.key(acme);
    await scene.keys.revokeAnywhere(bound[0]!.id);
    await acme.api.delete(`/v1/domains/${domainId}`);
    expect(await scene.entries(acme, '?action=api_key.revoked')).toMatchObject([
      { actor: acme.keyId, targetId: bound[1]!.id, data: { mode: 'live', domainId } },
      { actor: 'operator', targetId: bound[0]!.id },
    ]);
  });

  it('that are refused leave nothing', async () => {
    const small = await scene.key(acme, { scopes: ['key:manage'] });
    const { status } = await small.api.post('/v1/api-keys', { name: 'x', mode: 'live', scopes: ['email:send'] });
    expect([status, await scene.entries(acme, `?actor=${small.id}`)]).toEqual([403, []]);
  });
});

describe('changes of organizations', () => {
  it('are written down once', async () => {
    const organizations = scene.app.get(OrganizationsService);
    const id = acme.organizationId;
    await organizations.setTracking(id, { trackOpens: true });
    await organizations.setTracking(id, { trackOpens: true });
    await organizations.setStatus(id, 'suspended');
    await organizations.setStatus(id, 'suspended');
    await organizations.setStatus(id, 'active');
    expect(await scene.entries(acme, '?targetType=organization')).toMatchObject([
      { actor: 'operator', action: 'organization.resumed', targetId: id, data: { status: 'active' } },
      { action: 'organization.suspended', data: { status: 'suspended' } },
      { action: 'organization.tracking_changed', data: { trackOpens: true } },
      { action: 'organization.created', data: {} },
    ]);
  });
});

describe('refusals', () => {
  const written = (query: string, count: number) =>
    waitFor(async () => (await scene.entries(acme, query)).length === count, { what: `${count} × ${query}` });

  it('of a missing scope are noted once in ten minutes for each route', async () => {
    const { id, api } = await scene.key(acme, { scopes: ['email:send'] });
    for (const path of ['/v1/suppressions', '/v1/emails/one', '/v1/emails/two', '/v1/suppressions']) {
      expect((await api.get(path)).status).toBe(403);
    }
    await written('?action=auth.scope_denied', 2);
    scene.app.clock.advance(10 * MINUTE);
    await api.get('/v1/emails/three');
    await written('?action=auth.scope_denied', 3);
    const denial = { actor: id, targetType: 'route', data: { mode: 'live', required: 'email:read' } };
    expect(await scene.entries(acme, '?action=auth.scope_denied')).toMatchObject([
      { ...denial, targetId: 'GET /v1/emails/:id' },
      { ...denial, targetId: 'GET /v1/emails/:id' },
      { ...denial, targetId: 'GET /v1/suppressions', data: { mode: 'live', required: 'suppression:read' } },
    ]);
  });

  it('of one organization are a hundred in ten minutes, and take nothing from others', async () => {
    const other = await scene.app.owner('Other');
    const refused = scene.app.get(RefusedAccessService);
    const deny = ({ organizationId }: Owner, apiKeyId: string, route: string) => {
      const principal = {
        organizationId,
        apiKeyId,
        mode: 'live',
        scopes: new Set<never>(),
        domainId: undefined,
      } as const;
      refused.scopeDenied(principal, route, 'email:read');
    };
    for (let n = 0; n < 150; n += 1) deny(acme, newId(), `GET /v1/${n}`);
    deny(other, newId(), 'GET /v1/other');
    await written('?action=auth.scope_denied&limit=100', 100);
    expect(await scene.entries(other, '?action=auth.scope_denied')).toHaveLength(1);
    expect(await scene.entries(acme, '?targetId=GET%20/v1/100')).toEqual([]);
    scene.app.clock.advance(10 * MINUTE);
    deny(acme, newId(), 'GET /v1/later');
    await written('?targetId=GET%20/v1/later', 1);
  });

  it('of ended keys are noted', async () => {
    const revoked = await scene.key(acme);
    const expired = await scene.key(acme, { expiresAt: new Date(scene.app.clock.now().getTime() + MINUTE) });
    await scene.keys.revokeAnywhere(revoked.id);
    scene.app.clock.advance(MINUTE);
    for (const { api } of [revoked, expired, revoked]) expect((await api.get('/v1/domains')).status).toBe(401);
    await written('?action=auth.key_refused', 2);
    expect(await scene.entries(acme, '?action=auth.key_refused')).toMatchObject([
      { actor: expired.id, targetType: 'api_key', targetId: expired.id, data: { mode: 'live', reason: 'expired' } },
      { actor: revoked.id, targetType: 'api_key', targetId: revoked.id, data: { mode: 'live', reason: 'revoked' } },
    ]);
  });
});
