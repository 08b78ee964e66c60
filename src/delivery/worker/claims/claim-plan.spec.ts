import fc from 'fast-check';
import { FakeClock } from '../../../../test/doubles/fake-clock';
import { claimOf } from '../../../../test/setup/recipient-copies';
import { ClaimPlanner } from './claim-plan';
import { WorkerSlots } from '../slots/worker-slots';

function setUp() {
  const slots = new WorkerSlots(new FakeClock(), { slots: 10, sharedHop: false, connectionsPerHost: 20 });
  const planner = new ClaimPlanner(slots, { slots: 10, startConcurrency: 2 }, new FakeClock());
  const claim = (destination: string, organizationId = 'a') => claimOf(0, { organizationId, destination });
  const begin = (destination: string, organizationId = 'a') => slots.take({ organizationId, destination }, ['mx']);
  const limitOf = (destination: string) => planner.roomOf(destination).limit;
  const prove = (destination: string) => {
    slots.give(begin(destination, 'prover'), 'success');
    return destination;
  };
  for (let begun = 0; begun < 20; begun += 1) planner.begin(planner.expect(claim('begun.example')));
  return { slots, planner, claim, begin, prove, limitOf };
}

describe('a claim', () => {
  it('takes for a new destination what may begin there now, and nothing for one that is busy', () => {
    const { planner, claim, begin, limitOf } = setUp();
    expect(limitOf('new.example')).toBe(2);
    planner.expect(claim('new.example'));
    expect(limitOf('new.example')).toBe(1);
    begin('slow.example');
    begin('slow.example');
    expect(limitOf('slow.example')).toBe(0);
    expect(planner.plan().filter.blocked).toEqual(['slow.example']);
  });

  it('keeps a reserve for a prompt one, and fills it up when half of it is used', () => {
    const { slots, planner, claim, begin, limitOf } = setUp();
    for (let n = 0; n < 3; n += 1) slots.give(begin('prompt.example'), 'success');
    expect(limitOf('prompt.example')).toBe(15);
    const expected = Array.from({ length: 6 }, () => planner.expect(claim('prompt.example')));
    expect(limitOf('prompt.example')).toBe(0);
    expected.slice(0, 1).forEach((one) => planner.leave(one));
    expect(limitOf('prompt.example')).toBe(10);
  });

  it('names each destination once, whatever group it had before', () => {
    const names = ['a.example', 'b.example', 'mx.example'];
    const steps = fc.array(fc.tuple(fc.constantFrom(...names), fc.constantFrom(...names, 'big.example'), fc.boolean()));
    fc.assert(
      fc.property(steps, (moves) => {
        const { slots, planner, claim, begin } = setUp();
        for (const [destination, group, isPrompt] of moves) {
          slots.give(begin(destination), isPrompt ? 'success' : 'unreachable');
          planner.expect(claim(destination));
          slots.learnGroup(destination, { group, hosts: [] });
        }
        const { blocked, provenOnly } = planner.plan().filter;
        for (const list of [blocked, planner.heldBack().destinations, provenOnly?.destinations ?? []]) {
          expect(list).toEqual([...new Set(list)]);
        }
      }),
    );
  });

  it('takes of a tenant with its share of slow destinations only what goes to prompt ones, until half of them are over', () => {
    const { slots, planner, begin } = setUp();
    slots.give(begin('prompt.example', 'b'), 'success');
    const tickets = ['one', 'two', 'three'].map((name) => begin(`${name}.example`));
    expect(planner.plan().filter.provenOnly).toEqual({
      organizationIds: ['a'],
      destinations: ['prompt.example'],
    });
    tickets.slice(0, 1).forEach((ticket) => slots.give(ticket, 'unreachable'));
    expect(planner.plan().filter.provenOnly?.organizationIds).toEqual(['a']);
    tickets.slice(1, 3).forEach((ticket) => slots.give(ticket, 'unreachable'));
    expect(planner.plan().filter.provenOnly?.organizationIds).toEqual([]);
  });

  it('leaves out a tenant that waits with more than there is left for others, and ends when enough waits', () => {
    const { planner, claim, prove } = setUp();
    const wait = (tenant: string, count: number) => {
      for (let n = 0; n < count; n += 1) planner.expect(claim(prove(`d${n}.example`), tenant));
    };
    wait('noisy', 11);
    wait('quiet', 1);
    expect(planner.plan().full).toEqual(['noisy']);
    expect(planner.hasRoom).toBe(true);
    wait('third', 10);
    expect(planner.plan().limit).toBe(0);
  });

  it('takes of newcomers when enough waits: of those with less than an equal part of it, a quarter as much', () => {
    const { planner, claim, prove } = setUp();
    const wait = (tenant: string, count: number) =>
      Array.from({ length: count }, (_, n) => planner.expect(claim(prove(`d${n}.example`), tenant)));
    const noisy = wait('noisy', 25);
    const plan = planner.planForNewcomers();
    expect(planner.plan().limit).toBe(0);
    expect(plan.limit).toBe(5);
    expect(plan.full).toEqual(['noisy']);
    expect(planner.isNewcomer('quiet')).toBe(true);
    wait('quiet', 5);
    expect(planner.isNewcomer('quiet')).toBe(true);
    expect(planner.planForNewcomers().limit).toBe(5);
    wait('third', 5);
    // What is kept for newcomers is used up as well, until something begins.
    expect(planner.planForNewcomers().limit).toBe(0);
    for (const one of noisy.slice(0, 1)) planner.leave(one);
    expect(planner.planForNewcomers().limit).toBe(1);
  });

  it('goes on for others although a tenant, or many, wait with more than may begin at unknown destinations', () => {
    const { planner, claim } = setUp();
    const before = planner.plan().limit;
    for (let n = 0; n < 60; n += 1) planner.expect(claim(`slow${n}.example`, 'a'));
    const { limit, filter, full } = planner.plan();
    // Three may begin; the others take no place.
    expect(limit).toBe(before - 3);
    expect(filter.provenOnly?.organizationIds).toEqual(['a']);
    expect(full).toEqual([]);
    for (let n = 0; n < 60; n += 1) planner.expect(claim(`tarpit${n}.example`, `t${n}`));
    // Nine of ten slots are the most that all of these may take.
    expect(planner.plan().limit).toBe(before - 9);
  });
});
