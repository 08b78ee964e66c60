import fc from 'fast-check';
import { FakeClock } from '../../../test/doubles/fake-clock';
import type { AppConfig } from '../../config/config';
import type { Database } from '../../database/pool/database.service';
import type { DestinationsRepository, FoldedGroup, ListedRule } from './destinations.repository';
import { DestinationsService } from './destinations.service';
import { learnRule } from './destination-log';
import { KnownPlaces } from './known-places';
import { PROVIDER_PROFILES, profileOf } from '../ports/provider-profiles';
import { limitsOf, shareOf } from './worker-share';

describe('the part of a worker', () => {
  it('adds up to the limit with those of all others, and differs by one at most', () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 12 }),
        (key, limit, workers) => {
          const limits = { isPaused: false, maxConnections: limit, ratePerMinute: limit };
          const shares = Array.from({ length: workers }, (_, rank) =>
            shareOf(key, limits, { places: [{ workers, rank }], isNew: false }),
          );
          const connections = shares.map(({ maxConnections = NaN }) => maxConnections);
          expect(connections.reduce((sum, one) => sum + one, 0)).toBe(limit);
          expect(Math.max(...connections) - Math.min(...connections)).toBeLessThanOrEqual(1);
          expect(shares.reduce((sum, { ratePerMinute = NaN }) => sum + ratePerMinute, 0)).toBeCloseTo(limit);
        },
      ),
    );
  });

  it('is nothing while the others have not made room', () => {
    const limits = { isPaused: false, maxConnections: 8, messagesPerConnection: 5 };
    expect(shareOf('mx', limits, { places: [{ workers: 2, rank: 1 }], isNew: true })).toEqual({
      isPaused: false,
      maxConnections: 0,
      messagesPerConnection: 5,
    });
  });

  it('is what another leaves of the limit, when it has more open than its part', () => {
    const partBeside = (active: number) =>
      shareOf('mx', { isPaused: false, maxConnections: 4 }, { places: [{ workers: 2, rank: 0 }], isNew: false }, [
        { rank: 1, active },
      ]);
    const parts = [0, 1, 2, 3, 4, 9].map((active) => partBeside(active).maxConnections);
    expect(parts).toEqual([2, 2, 2, 1, 0, 0]);
  });

  it('is nothing while one of many has so much open that the rest is not enough for all others', () => {
    const parts = [0, 1, 2, 3].map(
      (rank) =>
        shareOf('mx', { isPaused: false, maxConnections: 4 }, { places: [{ workers: 4, rank }], isNew: false }, [
          { rank: (rank + 1) % 4, active: 3 },
        ]).maxConnections,
    );
    expect(parts).toEqual([0, 0, 0, 0]);
  });

  it('is none of a new worker, and the least of what it was, until all others know of the same workers', () => {
    const known = new KnownPlaces();
    const limits = { isPaused: false, maxConnections: 6, ratePerMinute: 60 };
    const parts = (ids: readonly string[], isAgreed: boolean, sessionId = 'b') => {
      const { maxConnections, ratePerMinute } = shareOf('mx', limits, known.see(sessionId, { ids, isAgreed }));
      return [maxConnections, ratePerMinute];
    };
    expect(parts(['a', 'b'], false)).toEqual([0, 0]);
    expect(parts(['a', 'b'], true)).toEqual([3, 30]);
    expect(parts(['a', 'b', 'c'], false)).toEqual([2, 20]);
    // One that ends gives its part to nobody before all others have noted it.
    expect(parts(['b', 'c'], false)).toEqual([2, 20]);
    expect(parts(['b', 'c'], true)).toEqual([3, 30]);
    expect(parts(['b'], true)).toEqual([6, 60]);
    expect(parts(['c', 'd'], false, 'd')).toEqual([0, 0]);
  });

  it('goes to different workers for different groups when there is not enough for all', () => {
    const luckyOf = (key: string) =>
      [0, 1, 2, 3].filter(
        (rank) =>
          shareOf(key, { isPaused: false, maxConnections: 1 }, { places: [{ workers: 4, rank }], isNew: false })
            .maxConnections === 1,
      );
    const lucky = Array.from({ length: 40 }, (_, n) => luckyOf(`mx${n}.example.net`));
    expect(lucky.every(({ length }) => length === 1)).toBe(true);
    expect(new Set(lucky.flat()).size).toBe(4);
  });
});

describe('the list of groups', () => {
  it('looks at each rule a few times, however many groups and rules there are', async () => {
    const keys = Array.from({ length: 500 }, (_, n) => `mx${n}.example.net`);
    let looks = 0;
    const ruleOf = (key: string) => ({
      get key() {
        looks += 1;
        return key;
      },
      ...{ id: key, source: 'reply', effect: 'max_connections', value: 3, cause: '421', until: null, agoMs: 0 },
    });
    const groupOf = (key: string) => ({
      ...{ key, mxHosts: [key], domains: [], active: 0, delivered: 1, deferred: 0, bounced: 0, workers: 1 },
      ...{ pauses: 0, pausedUntil: null, cause: null, lastResponse: null },
    });
    const known: Pick<DestinationsRepository, 'fold' | 'listRules'> = {
      fold: () => Promise.resolve(keys.slice(100).map(groupOf) satisfies FoldedGroup[]),
      listRules: () => Promise.resolve(keys.map(ruleOf) as ListedRule[]),
    };
    const config = { delivery: { connectionsPerHost: 20 } } as AppConfig;
    const service = new DestinationsService(known as DestinationsRepository, {} as Database, new FakeClock(), config);
    const listed = await service.list();
    expect(new Set(listed.map(({ state, maxConnections }) => `${state} ${maxConnections}`))).toEqual(
      new Set(['slowed 3']),
    );
    expect(listed).toHaveLength(keys.length);
    expect(looks).toBeLessThan(10 * keys.length);
  });
});

describe('the limits of a group', () => {
  it('are the lowest of its rules and its profile', () => {
    const rules = [
      { source: 'reply', effect: 'max_connections', value: 7 },
      { source: 'operator', effect: 'max_connections', value: 12 },
      { source: 'reply', effect: 'rate_per_minute', value: 30 },
    ] as const;
    expect(limitsOf('mx.example.net', rules)).toEqual({ isPaused: false, maxConnections: 7, ratePerMinute: 30 });
    expect(limitsOf('mx01.mail.icloud.com', rules)).toMatchObject({ maxConnections: 7, messagesPerConnection: 5 });
    expect(limitsOf('mx01.mail.icloud.com', [])).toMatchObject({ maxConnections: 10 });
    expect(limitsOf('mx01.mail.icloud.com', rules.slice(1))).toMatchObject({ maxConnections: 12 });
    expect(limitsOf('mx.example.net', [{ source: 'operator', effect: 'paused', value: null }])).toEqual({
      isPaused: true,
    });
  });

  it('come of profiles that name their source, by a suffix of the host that only the provider can register', () => {
    for (const { hostSuffixes, source } of PROVIDER_PROFILES) {
      expect(source).toMatch(/^https:\/\//);
      for (const suffix of hostSuffixes) expect(suffix).toMatch(/^\.[a-z0-9-]+\.[a-z.]+$|^\.[a-z.]+$/);
    }
    expect(profileOf('aspmx.l.google.com')?.id).toBe('google');
    expect(profileOf('example-com.mail.protection.outlook.com')?.id).toBe('microsoft-365');
    expect(profileOf('hotmail-com.olc.protection.outlook.com')?.id).toBe('microsoft-consumer');
    expect(profileOf('notgoogle.com')).toBeUndefined();
  });
});

describe('a reply', () => {
  const then = { active: 6, perMinute: 240 };

  it.each([
    '421 4.7.0 [TSS04] Too many concurrent connections from 192.0.2.1',
    '451 4.7.652 The mail server [192.0.2.1] has exceeded the maximum number of connections. (S3115)',
    '421 4.4.5 - Too many connections from your host',
    '421 Too many concurrent SMTP connections; please try again later.',
  ])('that wants fewer connections is applied: %s', (text) => {
    expect(learnRule(text, then)).toMatchObject({ effect: 'max_connections', value: 5 });
    expect(learnRule(text, { active: 1, perMinute: 1 })).toMatchObject({ value: 0 });
  });

  it.each([
    '421-4.7.28 Gmail has detected an unusual rate of email originating from your IP address',
    '450 4.7.1 Error: too much mail from 192.0.2.1',
    '452 4.2.1 Rate limit exceeded, slow down',
  ])('that wants less mail is applied: %s', (text) => {
    expect(learnRule(text, then)).toMatchObject({ effect: 'rate_per_minute', value: 120 });
  });

  it('that says nothing of limits teaches nothing, however odd', () => {
    for (const text of ['', '451 4.3.0 try again later', '550 5.1.1 user unknown', '\u0000']) {
      expect(learnRule(text, then)).toBeUndefined();
    }
    fc.assert(
      fc.property(fc.string({ maxLength: 10_000 }), (text) => {
        const rule = learnRule(text, then);
        expect(rule === undefined || rule.value >= 1).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});
