import fc from 'fast-check';
import { FakeClock } from '../../../../test/doubles/fake-clock';
import { SECOND } from '../../../common/clock';
import type { ReleaseSignal } from '../../policy/destinations/destination-bounds';
import { type Ticket, WorkerSlots, type WorkerSlotsOptions } from './worker-slots';

function setUp(options: Partial<WorkerSlotsOptions> = {}) {
  const clock = new FakeClock();
  const slots = new WorkerSlots(clock, { slots: 100, sharedHop: false, connectionsPerHost: 20, ...options });
  const begin = (organizationId: string, destination: string, host = `mx.${destination}`): Ticket | undefined => {
    const candidate = { organizationId, destination };
    return slots.refusalOf(candidate, [host]) === undefined ? slots.take(candidate, [host]) : undefined;
  };
  /** Begins at one new destination after the other, as long as it may. */
  const beginAll = (organizationId: string, most = 1_000): Ticket[] => {
    const tickets: Ticket[] = [];
    for (let n = 0; n < most; n += 1) {
      const ticket = begin(organizationId, `${organizationId}-${n}.example`);
      if (ticket === undefined) break;
      tickets.push(ticket);
    }
    return tickets;
  };
  const prove = (destination: string) => {
    for (let n = 0; n < 20; n += 1) {
      const ticket = begin('prover', destination);
      if (ticket) slots.give(ticket, 'success');
    }
  };
  return { clock, slots, begin, beginAll, prove };
}

describe('WorkerSlots', () => {
  it('hold the one next hop back for a moment, and have as many as before after it', () => {
    const { clock, slots, begin } = setUp({ sharedHop: true });
    slots.pause();
    expect(slots.isHeldBack).toBe(true);
    expect(begin('a', 'x.example')).toBeUndefined();
    clock.advance(SECOND);
    expect(slots.isHeldBack).toBe(false);
    expect(slots.free).toBe(100);
  });

  it('give one tenant’s unknown destinations a quarter', () => {
    const { beginAll, slots } = setUp();
    expect(beginAll('a')).toHaveLength(25);
    expect(slots.refusalOf({ organizationId: 'a', destination: 'x.example' }, ['mx'])).toBe('tenant');
    expect(slots.refusalOf({ organizationId: 'b', destination: 'x.example' }, ['mx'])).toBeUndefined();
  });

  it('say how many of these may begin, before and while they do', () => {
    const { begin, beginAll, slots } = setUp();
    expect(slots.unprovenRoom('a')).toBe(25);
    expect(slots.unprovenRoom('a', 0.5)).toBe(15);
    beginAll('b', 40);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 30 }), (held) => {
        const { slots: fresh, begin: beginFresh } = setUp();
        for (let n = 0; n < held; n += 1) beginFresh('a', `${n}.example`);
        const room = fresh.unprovenRoom('a');
        let begun = 0;
        while (beginFresh('a', `more${begun}.example`)) begun += 1;
        expect(begun).toBe(room);
      }),
    );
    for (let tenant = 0; tenant < 120; tenant += 1) beginAll(`t${tenant}`);
    expect(slots.unprovenRoom('newcomer')).toBe(0);
    expect(slots.unprovenRoomInAll).toBe(0);
    expect(begin('newcomer', 'x.example')).toBeUndefined();
  });

  it('never give everything to slow destinations, however many tenants have some', () => {
    const { beginAll, begin, prove, slots } = setUp();
    prove('prompt.example');
    for (let tenant = 0; tenant < 120; tenant += 1) beginAll(`t${tenant}`);
    expect(slots.free).toBe(5);
    expect(begin('newcomer', 'prompt.example')).toBeDefined();
  });

  it('give a tenant more at prompt destinations while others need nothing, and leave room for them', () => {
    const { begin, prove, slots } = setUp();
    const destinations = Array.from({ length: 10 }, (_, n) => `d${n}.example`);
    for (const destination of destinations) prove(destination);
    const fill = (tenant: string) => {
      const before = slots.active;
      for (const destination of destinations) for (let n = 0; n < 25; n += 1) begin(tenant, destination, `mx ${n}`);
      return slots.active - before;
    };
    expect(fill('a')).toBe(90);
    expect(begin('b', 'd0.example', 'mx 0') ?? begin('b', 'other.example')).toBeDefined();
  });

  it('take a prompt destination for a slow one once nothing has ended for long', () => {
    const { begin, prove, slots, clock } = setUp();
    prove('a.example');
    begin('a', 'a.example');
    expect(slots.isPromptGroup('a.example')).toBe(true);
    clock.advance(11 * SECOND);
    expect(slots.isPromptGroup('a.example')).toBe(false);
  });

  it('bound a host behind many domains', () => {
    const { begin, slots } = setUp({ connectionsPerHost: 3 });
    const tickets = Array.from({ length: 5 }, (_, n) => begin('a', `d${n}.example`, 'mx.google.example'));
    expect(tickets.filter((ticket) => ticket !== undefined)).toHaveLength(3);
    expect(slots.refusalOf({ organizationId: 'a', destination: 'new.example' }, ['mx.google.example'])).toBe('host');
    expect(slots.refusalOf({ organizationId: 'a', destination: 'new.example' }, ['mx.google.example', 'mx2'])).toBe(
      undefined,
    );
  });

  it('do less when this host runs out of something, nothing for a moment, and more with each success', () => {
    const { beginAll, prove, slots, clock } = setUp();
    const tickets = beginAll('a', 20);
    slots.backOff();
    expect(slots.free).toBe(0);
    clock.advance(SECOND);
    for (const ticket of tickets) slots.give(ticket, 'neutral');
    expect(slots.free).toBe(15);
    // Twenty successes.
    prove('prompt.example');
    expect(slots.free).toBe(17);
  });

  it('keep their sums, whatever happens', () => {
    const step = fc.record({
      tenant: fc.constantFrom('a', 'b', 'c'),
      destination: fc.constantFrom('x.example', 'y.example', 'z.example'),
      signal: fc.constantFrom<ReleaseSignal>('success', 'throttled', 'suspended', 'unreachable', 'neutral'),
      ends: fc.boolean(),
      ms: fc.integer({ min: 0, max: 20_000 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const { clock, slots, begin } = setUp({ slots: 8, connectionsPerHost: 3 });
        const held: Ticket[] = [];
        for (const { tenant, destination, signal, ends, ms } of steps) {
          clock.advance(ms);
          const ended = ends ? held.shift() : undefined;
          if (ended) slots.give(ended, signal);
          const ticket = begin(tenant, destination, 'mx');
          if (ticket) held.push(ticket);
          expect(slots.active).toBe(held.length);
          expect(held.length).toBeLessThanOrEqual(3);
        }
        for (const ticket of held) slots.give(ticket, 'neutral');
        expect(slots.active).toBe(0);
        expect(slots.unprovenTenants()).toEqual([]);
      }),
    );
  });

  it('go by what another worker has met at a group, unless this one has met something since', () => {
    const { begin, clock, slots } = setUp({ startConcurrency: 1 });
    const ticket = begin('a', 'a.example');
    if (ticket) slots.give(ticket, 'unreachable');
    clock.advance(SECOND);
    const opened = { pausedForMs: 0, pauses: 0, limit: 2 };
    slots.learned.adopt('a.example', opened, 2 * SECOND);
    expect(begin('a', 'a.example')).toBeUndefined();
    slots.learned.adopt('a.example', opened, SECOND / 2);
    expect(begin('a', 'a.example')).toBeDefined();
  });

  it('hold everything back when the one next hop is down', () => {
    const { begin, slots } = setUp({ sharedHop: true, startConcurrency: 1 });
    const ticket = begin('a', 'a.example', 'relay');
    if (ticket) slots.give(ticket, 'unreachable');
    expect(slots.isHeldBack).toBe(true);
    expect(begin('a', 'b.example', 'relay')).toBeUndefined();
  });
});
