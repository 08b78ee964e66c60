import { sumDeltas, type StatDelta } from './stat-delta';

const delta = (fields: Partial<StatDelta>): StatDelta => ({
  ...{ organizationId: 'o', mode: 'live', domainId: 'd', occurredAt: new Date('2026-05-01T10:30:00Z') },
  ...{ counter: 'delivered', by: 1 },
  ...fields,
});

it('deltas are summed by receiver, and those of none by themselves', () => {
  const sums = sumDeltas([
    delta({ provider: 'google' }),
    delta({ provider: 'yahoo' }),
    delta({ counter: 'opens' }),
    delta({ provider: 'google', by: 2 }),
    delta({ counter: 'clicks' }),
  ]);
  expect(sums.map(({ provider, delivered, opens, clicks }) => [provider, delivered, opens, clicks])).toEqual([
    ['google', 3, 0, 0],
    ['yahoo', 1, 0, 0],
    [null, 0, 1, 1],
  ]);
});
