import type { Mode } from '../../../src/common/tenant';
import { newId } from '../../../src/common/ids';
import { type Counter, StatsService } from '../../../src/modules/stats/stats.service';
import type { Owner } from '../domains/domains-app';
import { day, read, StatsScene } from './stats-scene';

let scene: StatsScene;
let acme: Owner;
let domainId: string;
beforeAll(async () => {
  scene = await StatsScene.open();
});
afterAll(() => scene.close());
beforeEach(async () => {
  acme = await scene.app.owner();
  domainId = await scene.addDomain(acme, `d${newId().slice(-12)}.example`);
});

const MAY = day('2026-05-01', '2026-06-01');

/** As the engine counts. */
function count(
  provider: string,
  counts: Partial<Record<Counter, number>>,
  at = '2026-05-10T10:30:00Z',
  mode: Mode = 'live',
) {
  const deltas = Object.entries(counts).map(([counter, by]) => ({
    ...{ organizationId: acme.organizationId, domainId, mode, occurredAt: new Date(at), provider },
    ...{ counter: counter as Counter, by },
  }));
  const stats = scene.app.get(StatsService);
  return scene.app.db.database.transaction((tx) => Promise.resolve(stats.record(deltas, tx)));
}

describe('GET /v1/stats/providers', () => {
  it('adds up by receiver, folded and not folded alike, the most first', async () => {
    await count('yahoo', { sent: 1, delivered: 1 });
    await count('google', { sent: 60, delivered: 50, deferred: 20, bounced: 15 });
    await scene.fold();
    await count(
      'google',
      { sent: 10, delivered: 10, deferred: 0, bounced: 5, excused: 4, complaints: 3 },
      '2026-05-31T23:59:59Z',
    );
    await count('google', { sent: 1_000 }, '2026-06-01T00:00:00Z');
    expect(await read(acme.api, `/providers?${MAY}`)).toEqual({
      period: { from: '2026-05-01T00:00:00.000Z', to: '2026-06-01T00:00:00.000Z' },
      providers: [
        {
          ...{ provider: 'google', accepted: 70, delivered: 60, deferred: 20, bounced: 20, complaints: 3 },
          ...{ deferralRate: 0.1818, bounceRate: 0.1778, complaintRate: 0.05 },
        },
        {
          ...{ provider: 'yahoo', accepted: 1, delivered: 1, deferred: 0, bounced: 0, complaints: 0 },
          ...{ deferralRate: 0, bounceRate: 0, complaintRate: 0 },
        },
      ],
    });
  });

  it('is the same after the fold, and after another one', async () => {
    await count('apple', { sent: 2, delivered: 2 });
    const before = await read(acme.api, `/providers?${MAY}`);
    await scene.fold();
    await count('apple', { complaints: 1 });
    await scene.fold();
    const after = await read(acme.api, `/providers?${MAY}`);
    expect(before.providers).toMatchObject([{ provider: 'apple', delivered: 2, complaints: 0 }]);
    expect(after.providers).toMatchObject([{ provider: 'apple', delivered: 2, complaints: 1 }]);
    expect((await read(acme.api, `?${MAY}`)).stats.delivered).toBe(2);
  });

  it('leaves out counts of no receiver, of the other mode, of other organizations and of other domains', async () => {
    await scene.count(acme, domainId, '2026-05-10T10:30:00Z', { accepted: 5, opens: 1 });
    await count('google', { sent: 1 }, undefined, 'test');
    expect((await read(acme.api, `/providers?${MAY}`)).providers).toEqual([]);
    expect((await read(await scene.testClient(acme), `/providers?${MAY}`)).providers).toHaveLength(1);
    await count('google', { sent: 1 });
    const other = await scene.app.owner();
    expect((await read(other.api, `/providers?${MAY}`)).providers).toEqual([]);
    const quiet = await scene.addDomain(acme, `q${newId().slice(-12)}.example`);
    expect((await read(acme.api, `/providers?${MAY}&domain_id=${quiet}`)).providers).toEqual([]);
    expect((await read(acme.api, `/providers?${MAY}&domain_id=${domainId}`)).providers).toHaveLength(1);
  });
});
