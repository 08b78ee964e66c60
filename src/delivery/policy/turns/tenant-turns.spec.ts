import fc from 'fast-check';
import { TenantTurns } from './tenant-turns';

const names = (count: number) => Array.from({ length: count }, (_, n) => `t${n}`);

/** Claims from queues, of which a claim finds a part only, as the walk over the organizations does. */
function claims(turns: TenantTurns, queues: Map<string, number>, rounds: number, limit: number): Map<string, number> {
  const taken = new Map<string, number>();
  let walk = 0;
  for (let round = 0; round < rounds; round += 1) {
    const ready = [...queues].filter(([, depth]) => depth > 0).map(([id]) => id);
    turns.found(Array.from({ length: Math.min(32, ready.length) }, () => ready[walk++ % ready.length] ?? ''));
    const shares = turns.next(limit);
    const got = new Map<string, number>();
    for (const [id, share] of shares) {
      const count = Math.min(share, queues.get(id) ?? 0);
      if (count === 0) continue;
      queues.set(id, (queues.get(id) ?? 0) - count);
      got.set(id, count);
      taken.set(id, (taken.get(id) ?? 0) + count);
    }
    turns.took(shares, got);
  }
  return taken;
}

describe('TenantTurns', () => {
  it.each([1, 32, 33, 40, 100])('gives %i tenants with deep queues equal shares', (count) => {
    const taken = claims(new TenantTurns(), new Map(names(count).map((id) => [id, 1e6])), 40, 100);
    const counts = names(count).map((id) => taken.get(id) ?? 0);
    expect(counts.reduce((sum, one) => sum + one, 0)).toBe(4_000);
    // Never further apart than what one claim gives one of 32.
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(4);
  });

  it('gives shares by weight, whatever the number of tenants and the size of claims', () => {
    const anyWeights = fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 120 });
    const property = fc.property(anyWeights, fc.integer({ min: 1, max: 300 }), (weights, limit) => {
      const ids = names(weights.length);
      const byId = new Map(ids.map((id, n) => [id, weights[n] ?? 1]));
      const all = weights.reduce((sum, weight) => sum + weight, 0);
      const rounds = Math.ceil((20 * all + 40 * 32) / limit) + 10;
      const taken = claims(new TenantTurns(byId), new Map(ids.map((id) => [id, 1e9])), rounds, limit);
      for (const [id, weight] of byId) {
        const wanted = (rounds * limit * weight) / all;
        // What a tenant may be ahead or behind: a claim, and what was given before all were found.
        expect(Math.abs((taken.get(id) ?? 0) - wanted)).toBeLessThanOrEqual(Math.max(10, wanted / 2) + limit);
      }
    });
    fc.assert(property, { numRuns: 40 });
  });

  it('gives no tenant more than it asks for, and always everything', () => {
    const property = fc.property(fc.integer({ min: 1, max: 80 }), fc.integer({ min: 1, max: 200 }), (count, limit) => {
      const turns = new TenantTurns();
      turns.found(names(count));
      const shares = [...turns.next(limit).values()];
      expect(shares.reduce((sum, share) => sum + share, 0)).toBe(limit);
      expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1);
    });
    fc.assert(property);
  });

  it('serves a newcomer next, without owing it the past', () => {
    const turns = new TenantTurns();
    const queues = new Map([['noisy', 1e6]]);
    claims(turns, queues, 50, 100);
    queues.set('quiet', 1e6);
    const taken = claims(turns, queues, 10, 100);
    expect(Math.abs((taken.get('quiet') ?? 0) - 500)).toBeLessThanOrEqual(100);
  });

  it('does not let a tenant that has nothing to take hold up the others', () => {
    const turns = new TenantTurns();
    turns.found(['empty', 'full']);
    turns.took(turns.next(10), new Map([['full', 5]]));
    expect([...turns.next(10)]).toEqual([['full', 10]]);
  });

  it('gives nothing when no tenant has work', () => {
    expect(new TenantTurns().next(10).size).toBe(0);
  });
});
