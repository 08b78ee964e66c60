import fc from 'fast-check';
import { HeldPlaces } from './connection-shares';

describe('places that are held', () => {
  const places = (held: Readonly<Record<string, readonly number[]>>): HeldPlaces<number> => {
    const made = new HeldPlaces<number>();
    for (const [client, holders] of Object.entries(held)) for (const holder of holders) made.add(client, holder);
    return made;
  };

  it('go from the client that has most, the oldest first', () => {
    const held = places({ a: [1], b: [2, 3, 4], c: [5, 6] });
    expect(held.givingWayTo('new')).toBe(2);
    expect(held.givingWayTo('a')).toBe(2);
    // No more than it has left to another one.
    expect(held.givingWayTo('c')).toBeUndefined();
    expect(held.givingWayTo('b')).toBeUndefined();
    held.remove('b', 2);
    held.remove('b', 3);
    expect(held.givingWayTo('new')).toBe(5);
  });

  it('go from the network of the owner that has most, whose clients have few each', () => {
    const held = places({
      '198.51.100.1': [1, 2],
      '8193:3512:1:1': [3],
      '8193:3512:1:2': [4],
      '8193:3512:1:3': [5, 6],
    });
    expect(held.givingWayTo('new')).toBe(5);
    // A further client of that network takes from its own.
    expect(held.givingWayTo('8193:3512:1:9')).toBe(5);
    expect(held.givingWayTo('198.51.100.1')).toBe(5);
    expect(held.givingWayTo('8193:3512:1:9', (holder) => holder < 3)).toBeUndefined();
    held.remove('8193:3512:1:3', 5);
    expect(held.givingWayTo('198.51.100.2')).toBe(1);
  });

  it('are not taken from those who may keep theirs', () => {
    const held = places({ a: [1, 2, 3], b: [4] });
    expect(held.givingWayTo('new', (holder) => holder > 1)).toBe(2);
    expect(held.givingWayTo('new', (holder) => holder > 3)).toBe(4);
    expect(held.givingWayTo('new', () => false)).toBeUndefined();
    expect(places({}).givingWayTo('new')).toBeUndefined();
  });

  it('leave room for one more client, however many come and whoever they are', () => {
    const clients = fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(clients, fc.integer({ min: 1, max: 20 }), (comers, size) => {
        const held = new HeldPlaces<string>();
        const open = new Map<string, string>();
        for (const [index, comer] of comers.entries()) {
          const client = `c${comer}`;
          if (open.size >= size) {
            const other = held.givingWayTo(client);
            if (other === undefined) continue;
            held.remove(open.get(other) ?? '', other);
            open.delete(other);
          }
          held.add(client, `${index}`);
          open.set(`${index}`, client);
        }
        expect(open.size).toBeLessThanOrEqual(size);
        expect(held.givingWayTo('another')).toBeDefined();
        const counts = [...new Set(open.values())].map((client) => held.countOf(client));
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(open.size);
      }),
    );
  });
});
