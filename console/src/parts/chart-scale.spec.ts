import { isSpiky, utcTicks } from './chart-scale';

describe('isSpiky', () => {
  const even = Array.from({ length: 24 }, (_, hour) => 100 + hour);

  it('is true where one value is far above the others', () => {
    expect(isSpiky([even.map((value, hour) => (hour === 5 ? 8_000 : value))])).toBe(true);
    expect(isSpiky([even])).toBe(false);
  });

  it('compares the highest lines: few bounces are no reason', () => {
    expect(isSpiky([even, even.map(() => 1)])).toBe(false);
  });

  it('leaves times without mail aside', () => {
    expect(isSpiky([[0, 0, 0, 500, 0]])).toBe(false);
    expect(isSpiky([[0, 0, 1, 500, 0]])).toBe(true);
    expect(isSpiky([[1, 1, 15]])).toBe(false);
    expect(isSpiky([[]])).toBe(false);
    expect(isSpiky([])).toBe(false);
  });
});

describe('utcTicks', () => {
  it('has hours from 00:00 to 23:00, with the day where it changes', () => {
    const times = ['2026-11-28T22:00:00Z', '2026-11-28T23:00:00Z', '2026-11-29T00:00:00Z', '2026-11-29T01:00:00Z'];
    expect(utcTicks(times, 3_600)).toEqual(['22:00\nNov 28', '23:00', '00:00\nNov 29', '01:00']);
  });

  it('has days where a step is a day or more', () => {
    expect(utcTicks(['2026-11-28T00:00:00Z', '2026-11-29T00:00:00Z'], 86_400)).toEqual(['Nov 28', 'Nov 29']);
  });
});
