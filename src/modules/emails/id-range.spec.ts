import fc from 'fast-check';
import { HOUR } from '../../common/clock';
import { firstIdAt, timeOfId } from '../../common/ids';
import { idRange, type IdRange, splitAtHours, type TimeRange } from './id-range';

const BASE = Date.parse('2026-03-29T00:00:00.000Z');
const times = fc.integer({ min: 0, max: 72 * HOUR }).map((ms) => new Date(BASE + ms));
const bounds = fc.option(times, { nil: undefined });
const ids = times.map((time) => firstIdAt(time).replace(/0{12}$/, 'abcdefabcdef'));

const contains = (range: IdRange | undefined, id: string) => range !== undefined && id >= range.from && id < range.to;
const holds = (range: TimeRange | undefined, id: string) => range !== undefined && contains(idRange(range), id);

describe('splitting a span at its whole hours', () => {
  it('puts every id of the span into one part, and no other id into any', () => {
    fc.assert(
      fc.property(bounds, bounds, fc.option(ids, { nil: undefined }), ids, (from, to, before, id) => {
        const { newest, hours, oldest } = splitAtHours({ from, to }, before);
        const parts = [contains(newest, id), holds(hours, id), contains(oldest, id)].filter(Boolean).length;
        expect(parts).toBe(contains(idRange({ from, to }, before), id) ? 1 : 0);
      }),
      { numRuns: 2_000 },
    );
  });

  it('has whole hours between the parts, the newest part first', () => {
    fc.assert(
      fc.property(bounds, bounds, ids, (from, to, before) => {
        const { newest, hours, oldest } = splitAtHours({ from, to }, before);
        for (const edge of [hours?.from, hours?.to]) expect((edge?.getTime() ?? 0) % HOUR).toBe(0);
        if (newest && oldest) expect(newest.from >= oldest.to).toBe(true);
        if (newest && hours?.to) expect(timeOfId(newest.from)).toEqual(hours.to);
      }),
    );
  });
});
