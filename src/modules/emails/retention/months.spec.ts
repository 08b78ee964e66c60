import fc from 'fast-check';
import { firstIdAt } from '../../../common/ids';
import { distinctMonths, idsOf, monthOf, spanOf } from './months';

const times = fc.date({
  min: new Date('1970-01-01T00:00:00Z'),
  max: new Date('9998-12-31T00:00:00Z'),
  noInvalidDate: true,
});

describe('months', () => {
  it('hold their moments, and their ids, and follow each other without a gap', () => {
    fc.assert(
      fc.property(times, (time) => {
        const { from, to } = spanOf(monthOf(time));
        expect(from <= time && time < to).toBe(true);
        expect(monthOf(to)).toEqual(monthOf(time, 1));
        const ids = idsOf(monthOf(time));
        expect(ids.from <= firstIdAt(time) && firstIdAt(time) < ids.to).toBe(true);
        expect(idsOf(monthOf(time, 1)).from).toBe(ids.to);
      }),
    );
  });

  it.each([
    ['2026-03-31T23:59:59.999Z', 1, '2026-04-01'],
    ['2026-03-31T23:59:59.999Z', -13, '2025-02-01'],
    ['2026-12-01T00:00:00.000Z', 1, '2027-01-01'],
    ['2026-01-31T12:00:00.000Z', -1, '2025-12-01'],
  ])('of %s, %i later, is %s', (time, later, month) => {
    expect(monthOf(new Date(time), later)).toEqual(new Date(`${month}T00:00:00.000Z`));
  });

  it('are named once each, in order', () => {
    const [may, june] = [monthOf(new Date('2026-05-05')), monthOf(new Date('2026-06-06'))];
    expect(distinctMonths([june, may, new Date(june)])).toEqual([may, june]);
  });
});
