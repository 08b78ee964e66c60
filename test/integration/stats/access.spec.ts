import { newId } from '../../../src/common/ids';
import type { Owner } from '../domains/domains-app';
import { day, read, StatsScene } from './stats-scene';

let scene: StatsScene;
let acme: Owner;
let domainId: string;
beforeAll(async () => {
  scene = await StatsScene.open({ RATE_LIMIT_ENABLED: 'true', RATE_LIMITS: '{"stats": 60}' });
});
afterAll(() => scene.close());
beforeEach(async () => {
  acme = await scene.app.owner();
  domainId = await scene.addDomain(acme, `d${newId().slice(-12)}.example`);
});

const MAY = day('2026-05-01', '2026-05-03');
const AT = '2026-05-02T10:00:00Z';
const ROUTES = [`?${MAY}`, `/domains?${MAY}`, `/hourly?${MAY}`, '/reputation'];
/** Whatever was counted, by route. */
const totals = async (api: Owner['api'], filter = '') => {
  const sum = (entries: { total: number }[]) => entries.reduce((all, { total }) => all + total, 0);
  return [
    (await read(api, `?${MAY}${filter}`)).stats.total,
    sum((await read(api, `/domains?${MAY}`)).domains),
    sum((await read(api, `/hourly?${MAY}${filter}`)).hourly),
  ];
};

describe('statistics', () => {
  it.each([
    ['', 'start_date end_date'],
    ['?start_date=2026-05-01', 'end_date'],
    ['?end_date=2026-05-01', 'start_date'],
    [`?${day('2026-05-01T10:00:00', '2026-05-02')}`, 'start_date'],
    [`?${day('2026-02-30', '2026-05-02')}`, 'start_date'],
    [`?${day('yesterday', 'now')}`, 'start_date end_date'],
    [`?start_date=2026-05-01&${MAY}`, 'start_date'],
    [`?${day('2026-05-02', '2026-05-02')}`, 'end_date'],
    [`?${day('2026-05-02', '2026-05-01')}`, 'end_date'],
    [`?${MAY}&page=5`, 'page'],
    [`?${MAY}&startDate=2026-05-01`, 'startDate'],
  ])('refuse %s, naming %s', async (query, fields) => {
    for (const route of ['', '/domains', '/hourly']) {
      const { status, body } = await acme.api.get(`/v1/stats${route}${query}`);
      expect([status, body.error.code, body.error.message]).toEqual([
        400,
        'invalid_request',
        'Request validation failed',
      ]);
      expect(Object.keys(body.error.details.validation).sort()).toEqual(fields.split(' ').sort());
    }
  });

  it.each([
    [`?${MAY}&domain_id=acme.example`],
    [`/hourly?${MAY}&domain_id=1`],
    [`/domains?${MAY}&domain_id=0190aaaa-0000-7000-8000-000000000001`],
    [`/reputation?domain_id=x`],
    [`/reputation?${MAY}`],
  ])('refuse %s', async (query) => {
    const { status, body } = await acme.api.get(`/v1/stats${query}`);
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
  });

  it("treat another organization's domain like one that does not exist", async () => {
    const other = await scene.app.owner();
    const foreign = await scene.addDomain(other, `f${newId().slice(-12)}.example`);
    await scene.count(other, foreign, AT, { accepted: 5 });
    for (const id of [foreign, newId()]) {
      for (const route of [`?${MAY}&`, `/hourly?${MAY}&`, '/reputation?']) {
        const { status, body } = await acme.api.get(`/v1/stats${route}domain_id=${id}`);
        expect([status, body.error]).toEqual([404, { code: 'resource_not_found', message: 'Domain not found' }]);
      }
    }
    expect(await totals(acme.api)).toEqual([0, 0, 0]);
    expect(await totals(other.api)).toEqual([5, 5, 5]);
  });

  it('show a key that is bound to a domain that one alone', async () => {
    const second = await scene.addDomain(acme, `s${newId().slice(-12)}.example`);
    await scene.count(acme, domainId, AT, { accepted: 1 });
    await scene.count(acme, second, AT, { accepted: 10 });
    const bound = await acme.client(['stats:read'], domainId);
    expect(await totals(acme.api)).toEqual([11, 11, 11]);
    expect(await totals(bound)).toEqual([1, 1, 1]);
    expect(await totals(bound, `&domain_id=${domainId.toUpperCase()}`)).toEqual([1, 1, 1]);
    expect(await read(bound, '/reputation')).toMatchObject({ domainId });
    expect((await bound.get(`/v1/stats?${MAY}&domain_id=${second}`)).status).toBe(404);
    expect((await bound.get(`/v1/stats/reputation?domain_id=${second}`)).status).toBe(404);
  });

  it('show test keys the test mail alone', async () => {
    await scene.count(acme, domainId, AT, { accepted: 1 });
    await scene.count(acme, domainId, AT, { accepted: 20 }, 'test');
    const test = await scene.testClient(acme);
    expect(await totals(test)).toEqual([20, 20, 20]);
    expect(await totals(acme.api)).toEqual([1, 1, 1]);
    expect((await test.get(`/v1/stats?${MAY}`)).headers.get('x-test-mode')).toBe('true');
  });

  it.each(ROUTES)('need a key with stats:read: %s', async (route) => {
    const without = await (await acme.client(['email:read'])).get(`/v1/stats${route}`);
    expect([without.status, without.body.error.code]).toEqual([403, 'insufficient_permissions']);
    expect(without.body.error.details.required).toBe('stats:read');
    const nobody = await acme.api.as(undefined).get(`/v1/stats${route}`);
    expect([nobody.status, nobody.body.error.code]).toEqual([401, 'invalid_api_key']);
  });

  it.each(ROUTES)('have a limit of their own: %s', async (route) => {
    expect((await acme.api.get(`/v1/stats${route}`)).headers.get('x-ratelimit-limit')).toBe('60');
  });
});
