import fc from 'fast-check';
import { FairOrder } from './fair-order';

function serve(order: FairOrder, count: number): string[] {
  return Array.from({ length: count }, () => {
    const tenant = order.next() ?? '-';
    order.served(tenant);
    return tenant;
  });
}

describe('FairOrder', () => {
  it('serves those that wait in turn', () => {
    const order = new FairOrder();
    for (const tenant of ['a', 'b', 'c', 'a']) order.join(tenant);
    expect(serve(order, 7).join('')).toBe('abcabca');
  });

  it('serves a newcomer before all that were served already, however long they have waited', () => {
    const order = new FairOrder();
    for (const tenant of ['a', 'b']) order.join(tenant);
    serve(order, 21);
    order.join('new');
    expect(serve(order, 5)).toEqual(['b', 'new', 'a', 'b', 'new']);
  });

  it('leaves out who is not to be served, and who has left', () => {
    const order = new FairOrder();
    for (const tenant of ['a', 'b', 'c']) order.join(tenant);
    expect(order.next(new Set(['a']))).toBe('b');
    order.leave('b');
    expect(order.next(new Set(['a']))).toBe('c');
    expect(order.next(new Set(['a', 'c']))).toBeUndefined();
    expect(order.size).toBe(2);
  });

  it('one that leaves and comes back after each turn gets no more than the others', () => {
    const order = new FairOrder();
    for (const tenant of ['a', 'b', 'c']) order.join(tenant);
    const counts = { a: 0, b: 0, c: 0, flighty: 0 };
    for (let turn = 0; turn < 400; turn += 1) {
      order.join('flighty');
      const tenant = order.next() as keyof typeof counts;
      order.served(tenant);
      counts[tenant] += 1;
      order.leave('flighty');
    }
    expect(counts).toEqual({ a: 100, b: 100, c: 100, flighty: 100 });
  });

  it('serves tenants that wait throughout within one of each other, while other tenants come and go', () => {
    const step = fc.record({ tenant: fc.nat(5), joins: fc.boolean() });
    const property = (steps: { tenant: number; joins: boolean }[]) => {
      const order = new FairOrder();
      const counts = { x: 0, y: 0 };
      order.join('x');
      order.join('y');
      for (const { tenant, joins } of steps) {
        if (joins) order.join(`t${tenant}`);
        else order.leave(`t${tenant}`);
        const next = order.next();
        if (next === 'x' || next === 'y') counts[next] += 1;
        order.served(next ?? '');
        expect(Math.abs(counts.x - counts.y)).toBeLessThanOrEqual(1);
      }
    };
    fc.assert(fc.property(fc.array(step, { maxLength: 200 }), property));
  });
});
