import { isOlderRelease } from '../../common/release';
import { evaluateSchema } from './schema-state';

const build = { known: ['A', 'B'], release: '1.4.0' };

describe('evaluateSchema', () => {
  it.each([
    ['current', ['A', 'B'], undefined, true, 'the schema is up to date'],
    ['empty', [], undefined, false, 'the database is empty: run `waybill migrate`'],
    [
      'behind',
      ['A'],
      { release: '1.3.0', oldest: '1.3.0' },
      false,
      'the schema was made by release 1.3.0 and is too old for this one, 1.4.0: run `waybill migrate`, which applies B',
    ],
    [
      'behind',
      ['A'],
      { release: '1.4.0', oldest: '1.3.0' },
      false,
      'the schema has a part of this release, 1.4.0: run `waybill migrate`, which applies B',
    ],
    ['behind', ['A'], undefined, false, 'the schema is older than this build: run `waybill migrate`, which applies B'],
    [
      'newer',
      ['A', 'B', 'C'],
      { release: '1.5.0', oldest: '1.4.0' },
      true,
      'the schema was made by release 1.5.0, and this is 1.4.0, which still runs on it',
    ],
    [
      'newer',
      ['A', 'B', 'C'],
      { release: '1.10.2', oldest: '1.10.0' },
      false,
      'the schema was made by release 1.10.2, and this is 1.4.0: start release 1.10.0 or later',
    ],
    [
      'newer',
      ['A', 'B', 'C'],
      undefined,
      false,
      'the schema was made by a later release, and this is 1.4.0: start that release',
    ],
  ] as const)('finds it %s after %j', (state, applied, origin, isUsable, sentence) => {
    expect(evaluateSchema(applied, origin, build)).toMatchObject({ state, isUsable, sentence });
  });

  it('is behind when another line of development has added something of its own', () => {
    expect(evaluateSchema(['A', 'C'], undefined, build)).toMatchObject({ state: 'behind', pending: ['B'] });
  });
});

describe('isOlderRelease', () => {
  it.each([
    ['1.4.0', '1.4.0', false],
    ['1.4.0', '1.10.0', true],
    ['2.0.0', '1.10.0', false],
    ['1.4.0', '1.4.1', true],
    ['1.4.1', '1.4.0', false],
  ])('%s before %s: %s', (a, b, expected) => {
    expect(isOlderRelease(a, b)).toBe(expected);
  });
});
