import { nextSelector } from './dkim-keyring';

describe('nextSelector', () => {
  it.each([
    [[], 'wb1'],
    [['wb1'], 'wb2'],
    [['wb1', 'wb2'], 'wb3'],
    [['wb7'], 'wb8'],
    [['wb9', 'wb10'], 'wb11'],
  ])('counts on from %j where the customer publishes the keys', (taken, next) => {
    expect(nextSelector(taken, false)).toBe(next);
  });

  it.each([
    [[], 'wb1'],
    [['wb1'], 'wb2'],
    [['wb2'], 'wb1'],
    [['wb5'], 'wb1'],
    [['wb1', 'wb2'], undefined],
  ])('takes the free one of the two beside %j in a delegated zone', (taken, next) => {
    expect(nextSelector(taken, true)).toBe(next);
  });
});
