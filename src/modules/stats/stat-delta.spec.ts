import { sumDeltas, type StatDelta } from './stat-delta';

const delta = (fields: Partial<StatDelta>): StatDelta => ({
  ...{ organizationId: 'o', mode: 'live', domainId: 'd', occurredAt: new Date('2026-05-01T10:30:00Z') },
  ...{ counter: 'delivered', by: 1 },
  ...fields,
});

it('deltas of a domain and hour are one, with what is of each group of receivers', () => {
  const sums = sumDeltas([
    delta({ provider: 'google' }),
    delta({ provider: 'yahoo', counter: 'complaints' }),
    delta({ counter: 'opens' }),
    delta({ provider: 'google', by: 2 }),
    delta({ counter: 'sent', by: 4 }),
    delta({ counter: 'clicks' }),
  ]);
  expect(sums).toHaveLength(1);
  expect(sums[0]).toMatchObject({ sent: 4, delivered: 3, complaints: 1, opens: 1, clicks: 1 });
  // In the order of PROVIDER_COUNTERS: sent, delivered, deferred, bounced, excused, complaints.
  expect(sums[0]?.byProvider).toEqual({ google: [0, 3, 0, 0, 0, 0], yahoo: [0, 0, 0, 0, 0, 1] });
});

it('what is not counted by receiver is in the totals only, and without receivers there is nothing', () => {
  const [opened, other] = sumDeltas([delta({ provider: 'google', counter: 'opens' }), delta({ domainId: 'e' })]);
  expect([opened?.opens, opened?.byProvider]).toEqual([1, null]);
  expect([other?.delivered, other?.byProvider]).toEqual([1, null]);
});
