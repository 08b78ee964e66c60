import fc from 'fast-check';
import { parseTimestamp } from './timestamps';

const FROM = new Date('1970-01-02T00:00:00Z');
const TO = new Date('2999-12-30T00:00:00Z');
const dates = fc.date({ min: FROM, max: TO, noInvalidDate: true });

describe('parseTimestamp', () => {
  it('reads back what toISOString writes', () => {
    fc.assert(fc.property(dates, (date) => expect(parseTimestamp(date.toISOString())).toEqual(date)));
  });

  it('reads every offset', () => {
    fc.assert(
      fc.property(dates, fc.integer({ min: -1439, max: 1439 }), (date, minutes) => {
        const local = new Date(date.getTime() + minutes * 60_000).toISOString().replace('Z', '');
        const size = Math.abs(minutes);
        const pad = (value: number) => String(value).padStart(2, '0');
        const offset = `${minutes < 0 ? '-' : '+'}${pad(Math.floor(size / 60))}:${pad(size % 60)}`;
        expect(parseTimestamp(local + offset)).toEqual(date);
      }),
    );
  });

  it('never throws and never returns an invalid date', () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'0123456789-:T.Z+') }));
    fc.assert(
      fc.property(text, (input) => expect(parseTimestamp(input)?.getTime()).not.toBeNaN()),
      { numRuns: 2_000 },
    );
  });

  it('takes exactly the days that exist', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1971, max: 2998 }),
        fc.integer({ min: 0, max: 14 }),
        fc.integer({ min: 0, max: 33 }),
        (year, month, day) => {
          const text = `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`;
          const date = new Date(Date.UTC(year, month - 1, day));
          const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
          expect(parseTimestamp(text)).toEqual(exists ? date : undefined);
        },
      ),
    );
  });

  it.each([
    ['2026-11-20', '2026-11-20T00:00:00.000Z'],
    ['2026-11-20T10:00:00Z', '2026-11-20T10:00:00.000Z'],
    ['2026-11-20T10:00:00.5Z', '2026-11-20T10:00:00.500Z'],
    ['2026-11-20T10:00:00.123456789+05:30', '2026-11-20T04:30:00.123Z'],
    ['2026-11-20T10:00:00-00:00', '2026-11-20T10:00:00.000Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
    ['2026-11-20t10:00:00z', '2026-11-20T10:00:00.000Z'],
    ['2026-11-20T10:00Z', '2026-11-20T10:00:00.000Z'],
    ['2026-11-20T10:00+02:00', '2026-11-20T08:00:00.000Z'],
    ['2026-11-20T10:00:00+0530', '2026-11-20T04:30:00.000Z'],
    ['2026-11-20T10:00:00+00', '2026-11-20T10:00:00.000Z'],
    ['2026-11-20T10:00:00-03', '2026-11-20T13:00:00.000Z'],
    ['1970-01-01', '1970-01-01T00:00:00.000Z'],
    ['1970-01-01T01:00:00+01:00', '1970-01-01T00:00:00.000Z'],
    ['2999-12-31T23:59:59.999Z', '2999-12-31T23:59:59.999Z'],
  ])('%s is %s', (text, expected) => {
    expect(parseTimestamp(text)?.toISOString()).toBe(expected);
  });

  it.each([
    '',
    '2026-11-20T10:00:00',
    '2026-11-20 10:00:00Z',
    '2026-11-20T10:00',
    '2026-11-20T10Z',
    '2026-11-20T10:00.5Z',
    '2026-11-20T10:00:00+1',
    '2026-11-20T10:00:00+24',
    '2026-11-20T10:00:00+0160',
    '2026-11-20+01:00',
    '2026-02-29',
    '2026-02-30T00:00:00Z',
    '2026-13-01',
    '2026-11-20T24:00:00Z',
    '2026-11-20T23:59:60Z',
    '2026-11-20T10:00:00+24:00',
    '2026-11-20T10:00:00.Z',
    '20261120',
    '2026-W47-5',
    '+012026-11-20',
    '0026-11-20',
    '1969-12-31T23:59:59Z',
    '3000-01-01',
    '9999-12-31',
    ' 2026-11-20',
    '2026-11-20\n',
    '1763632800',
    1_763_632_800,
    null,
    undefined,
    ['2026-11-20'],
  ])('refuses %j', (input) => {
    expect(parseTimestamp(input)).toBeUndefined();
  });
});
