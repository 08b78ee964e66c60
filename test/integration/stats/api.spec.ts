import { HOUR } from '../../../src/common/clock';
import { firstIdAt, newId } from '../../../src/common/ids';
import type { Owner } from '../domains/domains-app';
import { day, hoursAfter, read, StatsScene } from './stats-scene';

let scene: StatsScene;
let acme: Owner;
let domainId: string;
let domain: string;
beforeAll(async () => {
  scene = await StatsScene.open();
});
afterAll(() => scene.close());
beforeEach(async () => {
  acme = await scene.app.owner();
  domain = `d${newId().slice(-12)}.example`;
  domainId = await scene.addDomain(acme, domain);
});

const MAY = day('2026-05-01', '2026-06-01');
const MAY_PERIOD = { from: '2026-05-01T00:00:00.000Z', to: '2026-06-01T00:00:00.000Z' };
const NOTHING = { total: 0, sent: 0, delivered: 0, bounced: 0, opens: 0, clicks: 0 };

describe('GET /v1/stats', () => {
  it('adds up a period, folded and not folded alike', async () => {
    await scene.count(acme, domainId, '2026-05-01T00:00:00Z', {
      accepted: 8,
      sent: 7,
      delivered: 6,
      opens: 2,
      clicks: 1,
    });
    await scene.fold();
    await scene.count(acme, domainId, '2026-05-31T23:59:59.999Z', {
      accepted: 4,
      bounced: 1,
      failed: 2,
      complaints: 1,
    });
    await scene.count(acme, domainId, '2026-04-30T23:59:59.999Z', { accepted: 100 });
    await scene.count(acme, domainId, '2026-06-01T00:00:00Z', { accepted: 100 });
    expect(await read(acme.api, `?${MAY}`)).toEqual({
      period: MAY_PERIOD,
      stats: {
        ...{ total: 12, queued: 0, sending: 0, sent: 7, delivered: 6, bounced: 1, failed: 2, opens: 2, clicks: 1 },
        ...{ deliveryRate: 0.5, bounceRate: 0.0833, openRate: 0.3333, clickRate: 0.1667 },
      },
    });
  });

  it('is all zeros without mail, and no rate is above 1', async () => {
    const rates = { deliveryRate: 0, openRate: 0, clickRate: 0, bounceRate: 0 };
    const { stats } = await read(acme.api, `?${MAY}`);
    expect(stats).toEqual({ ...NOTHING, ...rates, queued: 0, sending: 0, failed: 0 });
    // Accepted before the period, delivered in it.
    await scene.count(acme, domainId, '2026-05-02T00:00:00Z', { accepted: 1, delivered: 3, opens: 4 });
    expect((await read(acme.api, `?${MAY}`)).stats).toMatchObject({ delivered: 3, deliveryRate: 1, openRate: 1 });
  });

  it('counts whole the hours that a period touches', async () => {
    await scene.count(acme, domainId, '2026-05-02T10:59:00Z', { accepted: 1 });
    await scene.count(acme, domainId, '2026-05-02T11:59:00Z', { accepted: 10 });
    const total = async (from: string, to: string) => (await read(acme.api, `?${day(from, to)}`)).stats.total;
    expect(await total('2026-05-02T10:20:00Z', '2026-05-02T10:21:00Z')).toBe(1);
    expect(await total('2026-05-02T10:20:00Z', '2026-05-02T11:00:00Z')).toBe(1);
    expect(await total('2026-05-02T10:20:00Z', '2026-05-02T11:00:00.001Z')).toBe(11);
    expect(await total('2026-05-02T12:30:00%2B02:00', '2026-05-02T12:31:00%2B02:00')).toBe(1);
  });

  interface Fields {
    readonly dueAt?: Date;
    readonly firstDueAt?: Date;
    readonly of?: string;
    readonly mode?: string;
  }

  it('returns how many of the accepted are queued and sending now', async () => {
    const now = scene.app.clock.now();
    const accepted = (at: Date, attempt: number, fields: Fields = {}) => {
      const { dueAt = now, firstDueAt = dueAt, of = domainId, mode = 'live' } = fields;
      return scene.app.db.query(
        `insert into deliveries (
           organization_id, mode, email_id, position, domain_id, recipient, destination, category, state, due_at,
           first_due_at, attempt
         )
         values ($1, $2, $3, 0, $4, 'r@x.example', 'x.example', 'transactional', 'ready', $5, $7, $6)`,
        [
          acme.organizationId,
          mode,
          firstIdAt(at).replace(/.{12}$/, newId().slice(-12)),
          of,
          dueAt,
          attempt,
          firstDueAt,
        ],
      );
    };
    const other = await scene.addDomain(acme, `o${domain}`);
    await accepted(now, 0);
    await accepted(now, 1, { dueAt: new Date(now.getTime() + HOUR) });
    await accepted(now, 2);
    await accepted(now, 1, { of: other });
    await accepted(now, 0, { dueAt: new Date(now.getTime() + HOUR) });
    // Put off without an attempt, as mail to a paused destination is.
    await accepted(now, 0, { dueAt: new Date(now.getTime() + HOUR), firstDueAt: now });
    await accepted(now, 0, { mode: 'test' });
    await accepted(new Date(now.getTime() - 3 * HOUR), 0);
    const period = day(new Date(now.getTime() - HOUR).toISOString(), new Date(now.getTime() + 1).toISOString());
    expect((await read(acme.api, `?${period}`)).stats).toMatchObject({ queued: 2, sending: 3 });
    expect((await read(acme.api, `?${period}&domain_id=${domainId}`)).stats).toMatchObject({ queued: 2, sending: 2 });
  });
});

describe('GET /v1/stats/domains', () => {
  it('lists the domains with mail, the most first', async () => {
    const second = await scene.addDomain(acme, `second.${domain}`);
    await scene.addDomain(acme, `idle.${domain}`);
    await scene.count(acme, domainId, '2026-05-02T00:00:00Z', {
      accepted: 4,
      sent: 4,
      delivered: 3,
      bounced: 1,
      opens: 1,
    });
    await scene.count(acme, second, '2026-05-03T00:00:00Z', { accepted: 9 });
    await scene.fold();
    await scene.count(acme, second, '2026-05-04T00:00:00Z', { delivered: 9, sent: 9, clicks: 1 });
    const rates = { deliveryRate: 0.75, bounceRate: 0.25 };
    expect(await read(acme.api, `/domains?${MAY}`)).toEqual({
      period: MAY_PERIOD,
      domains: [
        {
          ...NOTHING,
          domain: `second.${domain}`,
          total: 9,
          sent: 9,
          delivered: 9,
          clicks: 1,
          deliveryRate: 1,
          bounceRate: 0,
        },
        { ...NOTHING, domain, total: 4, sent: 4, delivered: 3, bounced: 1, opens: 1, ...rates },
      ],
      hasMore: false,
    });
    const part = async (query: string) => {
      const { domains, hasMore } = await read(acme.api, `/domains?${MAY}&${query}`);
      return [domains.map((entry: any) => entry.domain), hasMore];
    };
    expect(await part('limit=1')).toEqual([[`second.${domain}`], true]);
    expect(await part('limit=1&offset=1')).toEqual([[domain], false]);
    expect(await part('offset=2')).toEqual([[], false]);
    for (const query of ['limit=1001', 'limit=0', 'offset=-1']) {
      expect((await acme.api.get(`/v1/stats/domains?${MAY}&${query}`)).status).toBe(400);
    }
  });

  it('still shows removed domains, by name or by id', async () => {
    await scene.app.db.query(`update domains set warming_status = 'warmed' where id = $1`, [domainId]);
    await scene.count(acme, domainId, '2026-05-02T00:00:00Z', { accepted: 2 });
    await scene.count(acme, '0190aaaa-0000-7000-8000-000000000001', '2026-05-02T00:00:00Z', { accepted: 1 });
    expect((await acme.api.delete(`/v1/domains/${domainId}`)).status).toBe(200);
    const { domains } = await read(acme.api, `/domains?${MAY}`);
    expect(domains.map((entry: any) => [entry.domain, entry.total])).toEqual([
      [domain, 2],
      ['0190aaaa-0000-7000-8000-000000000001', 1],
    ]);
    expect((await read(acme.api, `?${MAY}&domain_id=${domainId}`)).stats.total).toBe(2);
  });
});

describe('GET /v1/stats/hourly', () => {
  it('has every hour of the period, with the fields of both shapes', async () => {
    await scene.count(acme, domainId, '2026-05-02T01:10:00Z', { accepted: 3, sent: 3, delivered: 2 });
    await scene.fold();
    await scene.count(acme, domainId, '2026-05-02T01:50:00Z', { delivered: 1, bounced: 1, opens: 1, clicks: 1 });
    const { hourly, period } = await read(acme.api, `/hourly?${day('2026-05-02T00:30:00Z', '2026-05-02T03:00:00Z')}`);
    expect(period).toEqual({ from: '2026-05-02T00:30:00.000Z', to: '2026-05-02T03:00:00.000Z' });
    const at = (hour: string) => ({ hour, timestamp: hour });
    expect(hourly).toEqual([
      { ...NOTHING, ...at('2026-05-02T00:00:00.000Z') },
      { ...at('2026-05-02T01:00:00.000Z'), total: 3, sent: 3, delivered: 3, bounced: 1, opens: 1, clicks: 1 },
      { ...NOTHING, ...at('2026-05-02T02:00:00.000Z') },
    ]);
  });

  it.each([
    ['clocks go forward', '2026-03-29T00:00:00.000Z'],
    ['clocks go back', '2026-10-25T00:00:00.000Z'],
    ['a month ends', '2026-02-28T00:00:00.000Z'],
  ])('has 24 hours a day while %s', async (_name, start) => {
    for (let hour = 0; hour < 48; hour += 1) {
      await scene.count(acme, domainId, hoursAfter(start, hour), { accepted: hour + 1 });
    }
    const { hourly } = await read(acme.api, `/hourly?${day(start, hoursAfter(start, 48))}`);
    expect(hourly.map((entry: any) => [entry.hour, entry.total])).toEqual(
      Array.from({ length: 48 }, (_, hour) => [hoursAfter(start, hour), hour + 1]),
    );
  });

  it('takes seven days, and no more', async () => {
    expect((await read(acme.api, `/hourly?${day('2026-05-01', '2026-05-08')}`)).hourly).toHaveLength(168);
    const { status, body } = await acme.api.get(`/v1/stats/hourly?${day('2026-05-01', '2026-05-08T00:00:00.001Z')}`);
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    expect(body.error.details.validation).toEqual({ end_date: ['end_date must be at most 7 days after start_date'] });
  });
});
