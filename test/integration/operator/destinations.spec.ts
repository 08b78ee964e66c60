import { randomUUID } from 'node:crypto';
import { HOUR } from '../../../src/common/clock';
import { newId } from '../../../src/common/ids';
import { type ReportedGroup, DestinationsRepository } from '../../../src/delivery/shaping/destinations.repository';
import { DomainsApp } from '../domains/domains-app';
import { type OperatorClient, operatorOf } from './operator-app';

let app: DomainsApp;
let operator: OperatorClient;
beforeAll(async () => {
  app = await DomainsApp.start();
  app.clock.set(new Date());
  operator = await operatorOf(app);
});
afterAll(() => app.close());
beforeEach(async () => {
  await app.db.query('delete from destination_reports');
  await app.db.query('delete from destination_rules');
});

const GROUP: ReportedGroup = {
  ...{
    key: 'mx1.example.net',
    mxHosts: ['mx1.example.net', 'mx2.example.net'],
    domains: ['example.com', 'example.org'],
  },
  ...{ active: 2, perMinute: 60, concurrency: 5, pauses: 0, pausedForMs: 0, cause: undefined, changedAgoMs: undefined },
  ...{ lastResponse: '250 2.0.0 OK', counts: { delivered: 7, deferred: 2, bounced: 1 } },
};

/** As published by a worker whose lease lasts for a minute more. */
async function tell(...groups: Partial<ReportedGroup>[]): Promise<void> {
  const sessionId = newId();
  await app.db.query(
    `insert into worker_sessions (id, host, process_id, lease_until) values ($1, 'x', 1, now() + interval '1 minute')`,
    [sessionId],
  );
  await app.get(DestinationsRepository).report(
    sessionId,
    groups.map((group) => ({ ...GROUP, ...group })),
  );
}

const get = async (path: string) => (await operator.api.get(`/operator/v1/destinations${path}`)).body;
const patch = (key: string, body: object) => operator.api.patch(`/operator/v1/destinations/${key}`, body);

describe('GET /operator/v1/destinations', () => {
  it('combines the rows of the workers, the busiest first', async () => {
    await tell({}, { key: 'mx.quiet.example', counts: { delivered: 1, deferred: 0, bounced: 0 } });
    await tell({ active: 1, pauses: 1, pausedForMs: HOUR, cause: '421 too many connections', changedAgoMs: 1_000 });
    const { data, pagination } = await get('');
    expect(pagination).toEqual({ page: 1, limit: 50, total: 2, totalPages: 1 });
    expect(data[0]).toEqual({
      key: 'mx1.example.net',
      mxHosts: ['mx1.example.net', 'mx2.example.net'],
      domains: ['example.com', 'example.org'],
      state: 'paused',
      // Of two live workers, each with the default of CONNECTIONS_PER_HOST.
      maxConnections: 40,
      active: 3,
      cause: '421 too many connections',
      until: expect.any(String),
      lastResponse: '250 2.0.0 OK',
      rules: [],
      lastHour: { delivered: 14, deferred: 4, bounced: 2 },
    });
    expect(data[1]).toMatchObject({ key: 'mx.quiet.example', state: 'open' });
    expect(await get('/MX1.example.net')).toEqual({ data: data[0] });
    expect((await get('/mx9.example.net')).error.code).toBe('resource_not_found');
  });

  it('finds them by host, domain and state, page by page', async () => {
    await tell({}, { key: 'aspmx.l.google.com', mxHosts: ['aspmx.l.google.com'], domains: ['example.edu'], pauses: 2 });
    const keys = async (query: string) => (await get(query)).data.map(({ key }: { key: string }) => key);
    expect(await keys('?q=EXAMPLE.ORG')).toEqual(['mx1.example.net']);
    expect(await keys('?q=mx2')).toEqual(['mx1.example.net']);
    await tell({}, { key: 'mx.de.example', mxHosts: ['mx.de.example'], domains: ['xn--bcher-kva.example'], pauses: 0 });
    for (const text of ['BÜCHER', 'Bu\u0308cher.ex', 'xn--bcher']) {
      expect(await keys(`?q=${encodeURIComponent(text)}`)).toEqual(['mx.de.example']);
    }
    expect(await keys('?state=probing')).toEqual(['aspmx.l.google.com']);
    expect(await keys('?state=paused')).toEqual([]);
    expect(await keys('?limit=1&page=2')).toHaveLength(1);
    const [google] = (await get('?q=google')).data;
    expect(google).toMatchObject({ maxConnections: 20, rules: [{ source: 'profile' }, { source: 'profile' }] });
  });
});

describe('PATCH /operator/v1/destinations/{key}', () => {
  it('pauses, limits and resumes, and records the actor', async () => {
    const key = 'MX7.example.net';
    const until = new Date(app.clock.now().getTime() + HOUR).toISOString();
    const paused = await patch(key, { paused: true, until, reason: 'their maintenance' });
    expect([paused.status, paused.body.data]).toEqual([
      200,
      expect.objectContaining({ key: 'mx7.example.net', state: 'paused', until, cause: 'their maintenance' }),
    ]);
    const limited = await patch(key, { paused: false, maxConnections: 3, ratePerMinute: 100, reason: 'slowly' });
    expect(limited.body.data).toMatchObject({
      state: 'slowed',
      maxConnections: 3,
      ratePerMinute: 100,
      cause: 'slowly',
    });
    const [rule] = limited.body.data.rules;
    const removed = await operator.api.delete(`/operator/v1/destinations/${key}/rules/${rule.id}`);
    const rest = limited.body.data.rules.filter(({ id }: { id: string }) => id !== rule.id);
    expect([removed.status, removed.body.data]).toEqual([
      200,
      expect.objectContaining({ key: 'mx7.example.net', rules: rest }),
    ]);
    const freed = await patch(key, { maxConnections: null, ratePerMinute: null, reason: 'well again' });
    expect(freed.body.data).toMatchObject({ state: 'open', rules: [] });
    const { data } = (await operator.api.get('/operator/v1/audit?limit=4')).body;
    expect(data.map(({ action, target }: { action: string; target: object }) => [action, target])).toEqual([
      ['destination.changed', { type: 'destination', id: 'mx7.example.net' }],
      ['destination.rule_removed', { type: 'destination', id: 'mx7.example.net' }],
      ['destination.changed', { type: 'destination', id: 'mx7.example.net' }],
      ['destination.changed', { type: 'destination', id: 'mx7.example.net' }],
    ]);
  });

  it('takes the place of a profile, which a reply does not', async () => {
    const key = 'mx01.mail.icloud.com';
    expect((await patch(key, { maxConnections: 50, reason: 'agreed with them' })).body.data.maxConnections).toBe(50);
    await app.get(DestinationsRepository).writeRules([
      {
        id: newId(),
        key,
        source: 'reply',
        effect: 'max_connections',
        value: 8,
        cause: '421',
        until: null,
        forMs: HOUR,
      },
    ]);
    expect((await get(`/${key}`)).data.maxConnections).toBe(8);
  });

  it.each(['127.0.0.1', '2001:db8::25', 'postfix', 'mx_1.example.net', '@example.net'])(
    'takes the key %s as it is listed',
    async (key) => {
      await tell({ key, mxHosts: [key] });
      const paused = await patch(encodeURIComponent(key), { paused: true, reason: 'x' });
      expect([paused.status, paused.body.data]).toEqual([200, expect.objectContaining({ key, state: 'paused' })]);
      const [rule] = paused.body.data.rules;
      const path = `/operator/v1/destinations/${encodeURIComponent(key)}/rules/${rule.id}`;
      expect((await operator.api.delete(path)).body.data).toMatchObject({ key, state: 'open', rules: [] });
    },
  );

  it('returns the group whose last rule is removed, known or not', async () => {
    const { rules } = (await patch('mx8.example.net', { paused: true, reason: 'x' })).body.data;
    const removed = await operator.api.delete(`/operator/v1/destinations/mx8.example.net/rules/${rules[0].id}`);
    expect(removed.body.data).toMatchObject({ key: 'mx8.example.net', state: 'open', rules: [] });
  });

  it.each([
    ['mx.example.net', { paused: true }],
    ['mx.example.net', { paused: 'yes', reason: 'x' }],
    ['mx.example.net', { maxConnections: 0, reason: 'x' }],
    ['mx.example.net', { ratePerMinute: 1.5, reason: 'x' }],
    ['mx.example.net', { paused: true, until: '2020-01-01', reason: 'x' }],
    ['mx.example.net', { reason: 'x' }],
    ['mx.example.net', { until: '2999-01-01', reason: 'x' }],
    ['no%20host', { paused: true, reason: 'x' }],
  ])('refuses %s %j', async (key, body) => {
    expect((await patch(key, body)).status).toBe(400);
  });

  it('has one name, however an international domain is written', async () => {
    const written = encodeURIComponent('Bücher.example');
    const { data } = (await patch(written, { paused: true, reason: 'They asked us to' })).body;
    expect(data.key).toBe('xn--bcher-kva.example');
    expect((await get(`/${written}`)).data).toEqual(data);
    const removed = await operator.api.delete(`/operator/v1/destinations/${written}/rules/${data.rules[0].id}`);
    expect(removed.body.data).toMatchObject({ key: data.key, state: 'open' });
    const audit = await operator.api.get(`/operator/v1/audit?target_id=${data.key}`);
    expect(audit.body.data.map(({ action }: { action: string }) => action)).toEqual([
      'destination.rule_removed',
      'destination.changed',
    ]);
  });

  it('returns 404 for an unknown rule', async () => {
    const path = `/operator/v1/destinations/mx.example.net/rules/${randomUUID()}`;
    expect((await operator.api.delete(path)).status).toBe(404);
  });
});

it.each([
  ['two others send 60', 'per_minute = 60', 10 + 60],
  ['two others have sent 60, minutes ago', `reported_at = now() - interval '3 minutes'`, 10],
  ['two others are of an earlier release', 'per_minute = null', 10],
])('a limit of the rate that a worker has met is half of what all send: %s', async (_others, change, value) => {
  await tell({}, { key: 'mx.other.example' });
  await tell({});
  await app.db.query(`update destination_reports set ${change}`);
  const rule = { id: newId(), key: GROUP.key, source: 'reply', effect: 'rate_per_minute', value: 10 } as const;
  const destinations = app.get(DestinationsRepository);
  await destinations.writeLearned(newId(), [{ ...rule, cause: 'too fast', until: null, forMs: HOUR }]);
  expect(await destinations.listRules()).toMatchObject([{ key: GROUP.key, value }]);
});
