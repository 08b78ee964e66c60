import fc from 'fast-check';
import { healthOf, MIN_RECIPIENTS, type ReputationCounts, reputationOf } from './reputation';

const of = (accepted: number, fields: Partial<ReputationCounts> = {}): ReputationCounts => ({
  ...{ accepted, delivered: accepted, bounced: 0, complaints: 0 },
  ...fields,
});
const score = (counts: ReputationCounts) => reputationOf(counts).overallScore;

describe('a reputation', () => {
  it.each<[string, ReputationCounts, number]>([
    ['flawless mail', of(1_000), 100],
    ['2 % of bounces', of(1_000, { bounced: 20 }), 100],
    ['6 % of bounces', of(1_000, { bounced: 60 }), 80],
    ['10 % of bounces', of(1_000, { bounced: 100 }), 60],
    ['50 % of bounces', of(1_000, { bounced: 500 }), 60],
    ['0.05 % of complaints', of(2_000, { complaints: 1 }), 100],
    ['0.5 % of complaints', of(1_000, { complaints: 5 }), 50],
    ['5 % of complaints', of(1_000, { complaints: 50 }), 50],
    ['0.275 % of complaints', of(4_000, { complaints: 11 }), 75],
    ['95 % delivered', of(1_000, { delivered: 950 }), 100],
    ['85 % delivered', of(1_000, { delivered: 850 }), 90],
    ['75 % delivered', of(1_000, { delivered: 750 }), 80],
    ['nothing delivered', of(1_000, { delivered: 0 }), 80],
    ['everything bad', of(1_000, { delivered: 500, bounced: 500, complaints: 100 }), 0],
    ['too few recipients', of(MIN_RECIPIENTS - 1, { delivered: 0, bounced: 49, complaints: 49 }), 100],
    ['just enough recipients', of(MIN_RECIPIENTS, { delivered: 0, bounced: 50 }), 40],
  ])('of %s', (_name, counts, expected) => {
    expect(score(counts)).toBe(expected);
  });

  it('names what costs points, the costliest first, with number and remedy', () => {
    const { recommendations } = reputationOf(of(1_000, { delivered: 900, bounced: 72, complaints: 4 }));
    expect(recommendations).toEqual([
      expect.stringMatching(/^0\.44 % .*reported as spam; stay below 0\.05 %\. Send only to people who asked/),
      expect.stringMatching(/^7\.2 % of the recipients .*bounced; up to 2 % is normal\. Remove the addresses/),
      expect.stringMatching(/^Only 90 % of the recipients .*; 95 % is usual\. Look at the deferred/),
    ]);
    expect(reputationOf(of(1_000)).recommendations).toEqual([]);
  });

  it('says when there is too little to judge', () => {
    expect(reputationOf(of(3, { bounced: 3 })).recommendations).toEqual([
      expect.stringMatching(/^Only 3 recipients in the last 30 days: too few to judge/),
    ]);
    expect(reputationOf(of(1)).recommendations).toEqual([expect.stringMatching(/^Only 1 recipient in/)]);
  });

  it('gives rates with four decimals, 0 of nothing', () => {
    expect(reputationOf(of(3, { delivered: 2, bounced: 1 }))).toMatchObject({
      ...{ bounceRate: 0.3333, deliveryRate: 0.6667, complaintRate: 0 },
    });
    expect(reputationOf(of(0))).toMatchObject({ bounceRate: 0, deliveryRate: 0, complaintRate: 0, overallScore: 100 });
    expect(reputationOf(of(0, { delivered: 2, complaints: 4 })).complaintRate).toBe(1);
  });

  it.each([
    [100, 'excellent'],
    [90, 'excellent'],
    [89, 'good'],
    [75, 'good'],
    [74, 'fair'],
    [50, 'fair'],
    [49, 'poor'],
    [25, 'poor'],
    [24, 'critical'],
    [0, 'critical'],
  ])('of %i is %s', (points, status) => {
    expect(healthOf(points)).toBe(status);
  });

  describe('for any counts', () => {
    const counts = fc
      .record({
        accepted: fc.integer({ min: 1, max: 1_000_000 }),
        delivered: fc.double({ min: 0, max: 1, noNaN: true }),
        bounced: fc.double({ min: 0, max: 1, noNaN: true }),
        complaints: fc.double({ min: 0, max: 1, noNaN: true }),
      })
      .map(({ accepted, delivered, bounced, complaints }) => ({
        accepted,
        delivered: Math.floor(accepted * delivered),
        bounced: Math.floor(accepted * bounced),
        complaints: Math.floor(accepted * delivered * complaints),
      }));

    it('is a whole number from 0 to 100, with a reason whenever it is below 100', () => {
      fc.assert(
        fc.property(counts, (seen) => {
          const { overallScore, recommendations, healthStatus } = reputationOf(seen);
          expect(Number.isInteger(overallScore)).toBe(true);
          expect(overallScore).toBeGreaterThanOrEqual(0);
          expect(overallScore).toBeLessThanOrEqual(100);
          expect(healthStatus).toBe(healthOf(overallScore));
          if (overallScore < 100) expect(recommendations.length).toBeGreaterThan(0);
        }),
      );
    });

    it('never rises with more bounces or complaints, never falls with more deliveries', () => {
      fc.assert(
        fc.property(counts, fc.nat(1_000), (seen, more) => {
          const { delivered, bounced, complaints, accepted } = seen;
          expect(score({ ...seen, bounced: bounced + more })).toBeLessThanOrEqual(score(seen));
          expect(score({ ...seen, complaints: complaints + more })).toBeLessThanOrEqual(score(seen));
          const better = { ...seen, delivered: Math.min(accepted, delivered + more) };
          expect(score(better)).toBeGreaterThanOrEqual(score(seen));
        }),
      );
    });
  });
});
