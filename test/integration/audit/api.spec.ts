import { MINUTE } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import { addDomain } from '../../factories/tenants';
import type { Owner } from '../domains/domains-app';
import { AuditScene } from './audit-scene';

describe('GET /v1/audit-log', () => {
  let scene: AuditScene;
  let acme: Owner;

  beforeAll(async () => (scene = await AuditScene.start()));
  beforeEach(async () => (acme = await scene.app.owner()));
  afterAll(() => scene.close());

  it('returns who did what, newest first', async () => {
    const actor = newId();
    await scene.record(acme.organizationId, { actor, targetType: 'domain', targetId: 'd', data: { reason: 'why' } });
    const { body } = await acme.api.get('/v1/audit-log');
    expect(body).toEqual({
      data: [
        {
          id: expect.stringMatching(/^[0-9a-f-]{36}$/),
          timestamp: scene.app.clock.now().toISOString(),
          ...{ actor, action: 'thing.changed', targetType: 'domain', targetId: 'd', data: { reason: 'why' } },
        },
        expect.objectContaining({ actor: 'operator', action: 'api_key.created', targetId: acme.keyId }),
        expect.objectContaining({ actor: 'operator', action: 'organization.created', targetId: acme.organizationId }),
      ],
      pagination: { limit: 50, hasMore: false },
    });
  });

  it('returns nothing of another organization', async () => {
    const other = await scene.app.owner('Other');
    await scene.record(other.organizationId, { action: 'thing.secret' });
    expect(await scene.actions(acme)).toEqual(['api_key.created', 'organization.created']);
    expect(await scene.entries(acme, `?targetId=${other.keyId}`)).toEqual([]);
    const [foreign] = await scene.entries(other);
    expect(await scene.actions(acme, `?cursor=${foreign.id}`)).toEqual(['api_key.created', 'organization.created']);
  });

  it('goes from page to page while entries are added', async () => {
    for (let n = 0; n < 5; n += 1) await scene.record(acme.organizationId, { targetId: String(n) });
    const seen: string[] = [];
    let cursor = '';
    for (let more = true; more;) {
      const { body } = await acme.api.get(`/v1/audit-log?targetType=thing&limit=2${cursor}`);
      seen.push(...body.data.map(({ targetId }: { targetId: string }) => targetId));
      await scene.record(acme.organizationId, { targetId: 'new' });
      more = body.pagination.hasMore;
      cursor = `&cursor=${body.pagination.nextCursor?.toUpperCase()}`;
    }
    expect(seen).toEqual(['4', '3', '2', '1', '0']);
  });

  it('filters', async () => {
    const actor = newId();
    await scene.record(acme.organizationId, { targetId: 'a', actor });
    await scene.record(acme.organizationId, { targetId: 'b', action: 'thing.made' });
    await scene.record(acme.organizationId, { targetId: 'GET /v1/emails/:id', targetType: 'route' });
    const targets = async (query: string) => (await scene.entries(acme, query)).map(({ targetId }) => targetId);
    expect(await targets(`?actor=${actor}`)).toEqual(['a']);
    expect(await targets('?action=thing.made')).toEqual(['b']);
    expect(await targets('?targetType=thing')).toEqual(['b', 'a']);
    expect(await targets(`?targetId=${encodeURIComponent('GET /v1/emails/:id')}`)).toEqual(['GET /v1/emails/:id']);
    expect(await targets('?action=thing.made&targetId=a')).toEqual([]);
  });

  it('filters by time: from is in it, to is not', async () => {
    const times = [];
    for (const targetId of ['0', '1', '2']) {
      times.push(scene.app.clock.now().toISOString());
      await scene.record(acme.organizationId, { targetId });
      scene.app.clock.advance(MINUTE);
    }
    const targets = async (query: string) =>
      (await scene.entries(acme, `?targetType=thing${query}`)).map(({ targetId }) => targetId);
    expect(await targets(`&from=${times[1]}`)).toEqual(['2', '1']);
    expect(await targets(`&to=${times[1]}`)).toEqual(['0']);
    expect(await targets(`&from=${times[1]}&to=${times[2]}`)).toEqual(['1']);
  });

  it('keeps what concerns live data from a test key', async () => {
    for (const mode of ['live', 'test', undefined]) {
      await scene.record(acme.organizationId, { targetId: String(mode), data: mode ? { mode } : {} });
    }
    const tester = await scene.key(acme, { mode: 'test' });
    const entries = await scene.entries(tester, '?targetType=thing');
    expect(entries.map(({ targetId }) => targetId)).toEqual(['undefined', 'test']);
    expect(await scene.entries(acme, '?targetType=thing')).toHaveLength(3);
  });

  it('needs its scope, and a key of the whole organization', async () => {
    const reader = await scene.key(acme, { scopes: ['privacy:read'] });
    expect((await reader.api.get('/v1/audit-log')).status).toBe(200);
    const manager = await scene.key(acme, { scopes: ['privacy:manage', 'key:manage'] });
    const { status, body } = await manager.api.get('/v1/audit-log');
    expect([status, body.error.details]).toEqual([403, { required: 'privacy:read' }]);
    const domainId = await addDomain(scene.app.db, acme.organizationId);
    const bound = await scene.key(acme, { domainId });
    expect((await bound.api.get('/v1/audit-log')).body.error.code).toBe('domain_not_allowed');
    expect((await acme.api.as(undefined).get('/v1/audit-log')).status).toBe(401);
  });

  it.each([
    ['limit', 'limit=0'],
    ['limit', 'limit=101'],
    ['limit', 'limit=1&limit=2'],
    ['cursor', 'cursor=none'],
    ['from', 'from=yesterday'],
    ['to', 'to=2026-01-01T00:00:00'],
    ['action', 'action=Thing'],
    ['action', `action=${'a'.repeat(65)}`],
    ['actor', 'actor=a%20b'],
    ['targetType', 'targetType=Domain'],
    ['targetId', 'targetId=%EF%BF%BF'],
    ['target_type', 'target_type=domain'],
  ])('refuses a bad %s: %s', async (field, query) => {
    const { status, body } = await acme.api.get(`/v1/audit-log?${query}`);
    expect([status, Object.keys(body.error.details.validation)]).toEqual([400, [field]]);
  });
});
