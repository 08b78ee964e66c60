import { firstIdAt, isUuid, newId } from './ids';

describe('newId', () => {
  it('makes ids that are unique and sort in the order in which they were made', () => {
    const ids = Array.from({ length: 5_000 }, () => newId());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.toSorted()).toEqual(ids);
  });

  it('makes UUIDs of version 7 and the variant of RFC 9562 that carry the present time', () => {
    const before = firstIdAt(new Date());
    const id = newId();
    const after = firstIdAt(new Date(Date.now() + 1));
    expect(isUuid(id)).toBe(true);
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect([before, id, after].toSorted()).toEqual([before, id, after]);
  });

  it('cannot be guessed from its neighbour: no two share their last 44 bits', () => {
    const tails = Array.from({ length: 1_000 }, () => newId().slice(-11));
    expect(new Set(tails).size).toBe(tails.length);
  });
});
