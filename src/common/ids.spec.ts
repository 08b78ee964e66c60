import { firstIdAt, IdGenerator, isUuid, newId, useClockForIds, timeOfId } from './ids';

describe('newId', () => {
  it('makes ids that are unique and sort in the order in which they were made', () => {
    const ids = Array.from({ length: 5_000 }, () => newId());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.toSorted()).toEqual(ids);
  });

  it('makes UUIDs of version 7 and the variant of RFC 9562 that carry the present time', () => {
    const now = new Date('2026-03-01T12:00:00.123Z');
    const id = new IdGenerator({ now: () => now }).next();
    expect(isUuid(id)).toBe(true);
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(timeOfId(id)).toEqual(now);
    expect(firstIdAt(now) < id && id < firstIdAt(new Date(now.getTime() + 1))).toBe(true);
  });

  it('keeps the order when the clock is set back', () => {
    const times = ['12:00:01', '12:00:00', '12:00:00', '12:00:02'];
    const generator = new IdGenerator({ now: () => new Date(`2026-03-01T${times.shift()}Z`) });
    const ids = [generator.next(), generator.next(), generator.next(), generator.next()];
    expect(ids.toSorted()).toEqual(ids);
    expect(new Set(ids).size).toBe(4);
  });

  it('goes by the clock again when that is set back by more than a minute: it had been wrong', () => {
    const times = ['2026-03-06T12:00:00Z', '2026-03-01T12:00:00Z', '2026-03-01T12:00:00Z', '2026-03-01T11:59:30Z'];
    const generator = new IdGenerator({ now: () => new Date(times.shift() ?? '') });
    const [, ...ids] = [generator.next(), generator.next(), generator.next(), generator.next()];
    expect(ids.map((id) => timeOfId(id))).toEqual(ids.map(() => new Date('2026-03-01T12:00:00Z')));
    expect(ids.toSorted()).toEqual(ids);
  });

  it('goes by a given clock until that is released, or another one given', () => {
    const [first, second] = [new Date('2031-01-01T00:00:00Z'), new Date('2032-01-01T00:00:00Z')];
    const release = useClockForIds({ now: () => first });
    expect(timeOfId(newId())).toEqual(first);
    const releaseSecond = useClockForIds({ now: () => second });
    release();
    expect(timeOfId(newId())).toEqual(second);
    releaseSecond();
    expect(Math.abs(timeOfId(newId()).getTime() - Date.now())).toBeLessThan(60_000);
  });

  it('cannot be guessed from the one before: no two share their last 44 bits', () => {
    const tails = Array.from({ length: 1_000 }, () => newId().slice(-11));
    expect(new Set(tails).size).toBe(tails.length);
  });
});
