import { firstIdAt, IdGenerator, isUuid, newId, timeOfId } from './ids';

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

  it('cannot be guessed from its neighbour: no two share their last 44 bits', () => {
    const tails = Array.from({ length: 1_000 }, () => newId().slice(-11));
    expect(new Set(tails).size).toBe(tails.length);
  });
});
