import { randomUUID } from 'node:crypto';
import { ModulesContainer } from '@nestjs/core';
import { OperatorKeysService } from '../../../src/auth/keys/operator-keys.service';
import { ALL_OPERATOR_SCOPES, ALL_SCOPES, effectiveScopes, type Scope } from '../../../src/common/http/scopes';
import { type Mode, MODES } from '../../../src/common/tenant';
import { type ApiRoute, findControllers, routesOf } from '../../architecture/api-routes';
import { type Answer, ApiClient } from '../../e2e/kit/api-client';
import { KEYED_ROUTES, type KeyedRoute, type Kind, OPERATOR_ROUTES, PUBLIC_ROUTES } from './route-facts';
import { type Party, TenantIsolationScene } from './tenant-isolation-scene';

const PERIOD = 'start_date=2026-01-01T00:00:00Z&end_date=2026-01-02T00:00:00Z';

/** Where an object's id would show that a caller sees what is not theirs. */
type Seen = Pick<Party, 'domain' | 'objects'>;

const nameOf = ({ method, path }: ApiRoute) => `${method.toUpperCase()} ${path}`;

/** All scopes that do not open a route, also not by what they imply. */
function otherScopes(scope: Scope): Scope[] {
  return ALL_SCOPES.filter((other) => !effectiveScopes([other]).has(scope));
}

let scene: TenantIsolationScene;
let acme: Party;
let rival: Party;
beforeAll(async () => {
  scene = await TenantIsolationScene.start();
  [acme, rival] = scene.parties as [Party, Party];
});
afterAll(() => scene.close());

/** A request of one route; `ids` stand for the path's parameters. */
function request(route: string, ids: readonly string[], caller: { party: Party; mode?: Mode; key: ApiClient }) {
  const [method = '', pattern = ''] = route.split(' ');
  const { query = '', body } = KEYED_ROUTES[route] ?? ({} as Partial<KeyedRoute>);
  const left = [...ids];
  const path = pattern.replace(/\{\w+\}/g, () => encodeURIComponent(left.shift() ?? 'nothing'));
  const { party, mode = 'live', key } = caller;
  return key.call(method, path + query, body?.({ domain: party.domain, mode }));
}

const idsOf = (party: Party, { names = [] }: KeyedRoute, mode: Mode = 'live') =>
  names.map((kind) => party.objects[mode][kind]);

/** Ids that name nothing, of the same form. */
const unknownIds = ({ names = [] }: KeyedRoute) =>
  names.map((kind) => (kind === 'suppression' ? `${randomUUID()}@x.example` : randomUUID()));

function expectError({ status, body }: Answer, wanted: number, code: string): void {
  expect({ status, code: body.error?.code }).toEqual({ status: wanted, code });
}

function expectBlind({ body }: Answer, { objects, domain }: Seen, mode: Mode, kinds: 'all' | 'but domains'): void {
  const text = JSON.stringify(body);
  // A template is of no mode: live keys make them.
  const isHidden = (kind: Kind) =>
    (kinds === 'all' || kind !== 'domain') &&
    (mode === 'live' || !['template', 'inbound-route'].includes(kind)) &&
    kind !== 'first';
  const hidden = Object.entries(objects[mode]).filter(([kind]) => isHidden(kind as Kind));
  for (const [, id] of hidden) expect(text).not.toContain(id);
  if (kinds === 'all') expect(text).not.toContain(domain);
}

describe('the routes', () => {
  it('are described in route-facts.ts, every one, with the scope that they ask for', () => {
    const modules = [...scene.app.get(ModulesContainer).values()];
    const controllers = new Set(
      modules.flatMap((module) => [...module.controllers.values()].map(({ metatype }) => metatype)),
    );
    const served = findControllers().filter((controller) => controllers.has(controller));
    expect([...controllers].filter((controller) => !served.includes(controller as never))).toEqual([]);
    const routes = served.flatMap(routesOf);
    const described = { ...KEYED_ROUTES, ...OPERATOR_ROUTES };
    const scopes = Object.entries(described).map(([route, { scope }]) => [route, scope]);
    expect(
      Object.fromEntries(routes.filter(({ isPublic }) => !isPublic).map((route) => [nameOf(route), route.scope])),
    ).toEqual(Object.fromEntries(scopes));
    expect(
      routes
        .filter(({ isPublic }) => isPublic)
        .map(nameOf)
        .sort(),
    ).toEqual(Object.keys(PUBLIC_ROUTES).sort());
  });
});

describe.each(Object.entries(KEYED_ROUTES))('%s', (route, facts) => {
  const { scope, testKeys, boundKeys, status, names = [] } = facts;
  const key = (fields: object) => acme.key({ scopes: [scope], ...fields });

  it('refuses requests without a key, and keys without its scope, and changes nothing', async () => {
    const without = await Promise.all(
      MODES.map(async (mode) => ({ party: acme, mode, key: await acme.key({ mode, scopes: otherScopes(scope) }) })),
    );
    const before = await scene.stored(acme.organizationId);
    for (const text of [undefined, 'wb_live_x', 'x']) {
      const outsider = { party: acme, key: new ApiClient(scene.app.port, text) };
      expectError(await request(route, idsOf(acme, facts), outsider), 401, 'invalid_api_key');
    }
    for (const caller of without) {
      const answer = await request(route, idsOf(acme, facts), caller);
      expectError(answer, 403, 'insufficient_permissions');
      expect(answer.body.error.details).toEqual({ required: scope });
    }
    expect(await scene.stored(acme.organizationId)).toBe(before);
  });

  it('shows nothing of another organization', async () => {
    const theirs = { party: rival, key: await rival.key() };
    const before = await scene.stored(acme.organizationId);
    if (names.length === 0) {
      const answer = await request(route, [], theirs);
      expect(answer.status).toBe(status);
      for (const mode of MODES) expectBlind(answer, acme, mode, 'all');
    } else {
      const unknown = await request(route, unknownIds(facts), theirs);
      expectError(unknown, 404, 'resource_not_found');
      const foreign = [...idsOf(rival, facts).slice(0, -1), ...idsOf(acme, facts).slice(-1)];
      for (const mode of MODES) {
        const answer = await request(route, idsOf(acme, facts, mode), theirs);
        expect({ status: answer.status, body: answer.body }).toEqual({ status: 404, body: unknown.body });
      }
      // A place, like the first of the files, belongs to no organization: there it is their own.
      if (names.at(-1) !== 'first') expectError(await request(route, foreign, theirs), 404, 'resource_not_found');
    }
    expect(await scene.stored(acme.organizationId)).toBe(before);
  });

  it('keeps test keys apart from live data', async () => {
    const tester = { party: acme, mode: 'test' as const, key: await key({ mode: 'test' }) };
    const before = await scene.stored(acme.organizationId);
    const answer = await request(route, idsOf(acme, facts), tester);
    expect(answer.headers.get('x-test-mode')).toBe('true');
    if (testKeys === 'refused') expectError(answer, 403, 'insufficient_permissions');
    else if (testKeys === 'shared' || names.length === 0) expect(answer.status).toBe(status);
    else expectError(answer, 404, 'resource_not_found');
    if (testKeys !== 'shared') expectBlind(answer, acme, 'live', 'but domains');
    if (answer.status >= 400) expect(await scene.stored(acme.organizationId)).toBe(before);
  });

  if (testKeys === 'apart') {
    it('keeps live keys apart from test data', async () => {
      const answer = await request(route, idsOf(acme, facts, 'test'), { party: acme, key: await key({}) });
      if (names.length > 0) expectError(answer, 404, 'resource_not_found');
      expectBlind(answer, acme, 'test', 'but domains');
    });
  }

  it('keeps a key to the domain that it is bound to', async () => {
    const bound = { party: acme, key: await key({ domainId: acme.otherDomainId }) };
    const before = await scene.stored(acme.organizationId);
    const answer = await request(route, idsOf(acme, facts), bound);
    if (boundKeys === 'refused') expectError(answer, 403, 'domain_not_allowed');
    else if (boundKeys === 'open' || names.length === 0) expect(answer.status).toBe(status);
    else expectError(answer, 404, 'resource_not_found');
    expectBlind(answer, acme, 'live', 'all');
    if (answer.status >= 400) expect(await scene.stored(acme.organizationId)).toBe(before);
  });

  it('serves a key that has its scope and nothing else', async () => {
    const ids = idsOf(acme, facts);
    if (route.startsWith('DELETE')) ids[0] = await scene.make(names[0] ?? 'nothing', acme, 'live');
    const answer = await request(route, ids, { party: acme, key: await key({}) });
    expect({ status: answer.status, error: answer.body.error }).toEqual({ status, error: undefined });
  });
});

/** Reads whose parameters take more statements. */
const CURSOR = Buffer.from(randomUUID()).toString('base64url');
const LONGER_READS = [
  ['/v1/emails', 'from=2026-01-01T00:30:00Z&to=2046-01-01T00:30:00Z'],
  ['/v1/emails', `subject=x&cursor=${CURSOR}`],
  ['/v1/inbound-emails', `from=x&cursor=${CURSOR}`],
] as const;
const READS = Object.entries(KEYED_ROUTES).filter(([route]) => route.startsWith('GET'));

/** So that turns of requests (TenantTurnsGuard) bound the connections that an organization has. */
describe('a read takes one connection to the database at a time', () => {
  async function expectOne(read: (key: ApiClient) => Promise<Answer>): Promise<void> {
    const key = await acme.key();
    // Something in the background may take another one, but not each time.
    for (let attempt = 1; ; attempt += 1) {
      const peak = await scene.peakConnections(() => read(key));
      if (peak > 1 && attempt < 3) continue;
      expect(peak).toBeGreaterThan(0);
      expect(peak).toBeLessThanOrEqual(1);
      return;
    }
  }

  it.each(READS)('%s', (route, facts) => expectOne((key) => request(route, idsOf(acme, facts), { party: acme, key })));

  it.each(LONGER_READS)('GET %s with more parameters', (path, query) =>
    expectOne((key) => key.get(`${path}?${query}`)),
  );
});

describe('operators and tenants', () => {
  const expectRefused = (answer: Answer, required: string) => {
    expectError(answer, 403, 'insufficient_permissions');
    expect(answer.body.error.details).toEqual({ required });
  };
  const operator = async (scopes: readonly (typeof ALL_OPERATOR_SCOPES)[number][]) =>
    new ApiClient(scene.app.port, (await scene.app.get(OperatorKeysService).create({ name: 'ops', scopes })).key);

  it.each(Object.entries(KEYED_ROUTES))('%s is closed to an operator', async (route, facts) => {
    const key = await operator(ALL_OPERATOR_SCOPES);
    const before = await scene.stored(acme.organizationId);
    const answer = await request(route, idsOf(acme, facts), { party: acme, key });
    expectRefused(answer, facts.scope);
    expect(answer.body.error.message).toBe('Operator keys open /operator/v1 and nothing else');
    expect(await scene.stored(acme.organizationId)).toBe(before);
  });

  it.each(Object.entries(OPERATOR_ROUTES))('%s is open to operators only', async (route, { scope }) => {
    const before = await scene.stored(acme.organizationId);
    const { organizationId: id } = acme;
    for (const mode of MODES) {
      expectRefused(await request(route, [id], { party: acme, key: await acme.key({ mode }) }), scope);
    }
    const badKey = `wb_op_${'x'.repeat(49)}`;
    for (const text of [undefined, badKey]) {
      const outsider = { party: acme, key: new ApiClient(scene.app.port, text) };
      expectError(await request(route, [id], outsider), 401, 'invalid_api_key');
    }
    if (scope === 'operator:manage') {
      expectRefused(await request(route, [id], { party: acme, key: await operator(['operator:read']) }), scope);
    }
    expect(await scene.stored(acme.organizationId)).toBe(before);
  });
});

describe.each(Object.entries(PUBLIC_ROUTES))('%s', (route, { status }) => {
  it('needs no key, and looks at none', async () => {
    for (const key of [undefined, 'wb_live_x']) {
      const caller = { party: rival, key: new ApiClient(scene.app.port, key) };
      expect((await request(route, [], caller)).status).toBe(status);
    }
  });
});

describe('a request that names an object of another organization beside its path', () => {
  it.each<[string, (id: string, domain: string) => [path: string, body?: unknown]]>([
    ['GET', (id) => [`/v1/emails?domain_id=${id}`]],
    ['GET', (id) => [`/v1/stats?domain_id=${id}&${PERIOD}`]],
    ['GET', (id) => [`/v1/stats/hourly?domain_id=${id}&${PERIOD}`]],
    ['GET', (id) => [`/v1/stats/reputation?domain_id=${id}`]],
    ['POST', (id) => ['/v1/api-keys', { name: 'made', mode: 'live', scopes: ['email:read'], domainId: id }]],
    ['POST', (_id, domain) => ['/v1/emails', { from: `a@${domain}`, to: ['b@x.example'], subject: 'c', text: 'd' }]],
    [
      'POST',
      (_id, domain) => ['/v1/emails/batch', [{ from: `a@${domain}`, to: ['b@x.example'], subject: 'c', text: 'd' }]],
    ],
  ])('gets the response for an unknown id: %s %s', async (method, requestOf) => {
    const theirs = await rival.key();
    const answers = [
      [acme.domainId, acme.domain],
      [randomUUID(), `${randomUUID()}.example`],
    ].map(async ([id = '', domain = '']) => {
      const { status, body } = await theirs.call(method, ...requestOf(id, domain));
      return { status, text: JSON.stringify(body).replaceAll(id, '-').replaceAll(domain, '-') };
    });
    const [existing, unknown] = await Promise.all(answers);
    expect(existing).toEqual(unknown);
    expect(existing?.status).toBeLessThan(500);
  });

  it('has its idempotency keys for itself, by organization, mode and bound domain', async () => {
    const body = { to: ['b@x.example'], subject: 'c', text: 'd' };
    const keys = [acme.key(), acme.key({ mode: 'test' }), acme.key({ domainId: acme.otherDomainId }), rival.key()];
    const ids = new Set<string>();
    for (const key of await Promise.all(keys)) {
      const { status, headers, body: answer } = await key.post('/v1/emails', body, { 'x-idempotency-key': 'same' });
      expect([status, headers.get('idempotent-replayed')]).toEqual([202, null]);
      ids.add(answer.data.id);
    }
    expect(ids.size).toBe(keys.length);
  });
});
