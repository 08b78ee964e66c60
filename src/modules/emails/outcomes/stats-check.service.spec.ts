import { compareCounts } from './stats-counts';

const KEY = 'd 2026-03-01T10:00:00.000Z delivered';
const counts = (count?: number) => new Map(count === undefined ? [] : [[KEY, count]]);

describe('compareCounts', () => {
  it.each([
    ['agrees', 3, 3, 3, { compared: 1, unsettled: 0, differing: 0 }],
    ['is missing', undefined, 3, undefined, { compared: 1, unsettled: 0, differing: 1 }],
    ['counts what has not happened', 3, undefined, 3, { compared: 1, unsettled: 0, differing: 1 }],
    ['differs', 3, 2, 3, { compared: 1, unsettled: 0, differing: 1 }],
    ['changes meanwhile', 3, 3, 4, { compared: 1, unsettled: 1, differing: 0 }],
    ['appears meanwhile', undefined, 1, 1, { compared: 1, unsettled: 1, differing: 0 }],
    ['is not there at all', undefined, undefined, undefined, { compared: 0, unsettled: 0, differing: 0 }],
  ])('says whether a counter is right that %s', (_name, before, counted, after, expected) => {
    const { drifts, ...comparison } = compareCounts(counts(before), counts(counted), counts(after));
    expect({ ...comparison, differing: drifts.length }).toEqual(expected);
  });

  it('says which counter differs, and how', () => {
    expect(compareCounts(counts(), counts(2), counts()).drifts).toEqual([
      { domainId: 'd', hour: '2026-03-01T10:00:00.000Z', counter: 'delivered', stored: 0, counted: 2 },
    ]);
  });
});
