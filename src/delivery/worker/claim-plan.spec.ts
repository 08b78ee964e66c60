import { FakeClock } from '../../../test/doubles/fake-clock';
import { claimOf } from '../../../test/setup/recipient-copies';
import { ClaimPlanner } from './claim-plan';
import { WorkerSlots } from './worker-slots';

function setUp() {
  const slots = new WorkerSlots(new FakeClock(), { slots: 10, sharedHop: false, connectionsPerHost: 20 });
  const planner = new ClaimPlanner(slots, { slots: 10, startConcurrency: 2 });
  const claim = (destination: string, organizationId = 'a') => claimOf(0, { organizationId, destination });
  const begin = (destination: string, organizationId = 'a') => slots.take({ organizationId, destination }, ['mx']);
  const limitOf = (destination: string) => {
    const { destinationLimits } = planner.plan();
    return destinationLimits.known.find((one) => one.destination === destination)?.limit ?? destinationLimits.fresh;
  };
  return { slots, planner, claim, begin, limitOf };
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
    expect(planner.plan().blockedDestinations).toEqual(['slow.example']);
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

  it('takes of a tenant with its share of slow destinations only what goes to prompt ones, until half of them are over', () => {
    const { slots, planner, begin } = setUp();
    slots.give(begin('prompt.example', 'b'), 'success');
    const tickets = ['one', 'two', 'three'].map((name) => begin(`${name}.example`));
    expect(planner.plan().destinationLimits.provenOnly).toEqual({
      organizationIds: ['a'],
      destinations: ['prompt.example'],
    });
    tickets.slice(0, 1).forEach((ticket) => slots.give(ticket, 'unreachable'));
    expect(planner.plan().destinationLimits.provenOnly.organizationIds).toEqual(['a']);
    tickets.slice(1, 3).forEach((ticket) => slots.give(ticket, 'unreachable'));
    expect(planner.plan().destinationLimits.provenOnly.organizationIds).toEqual([]);
  });

  it('leaves out a tenant that waits with more than there is left for others, and ends when enough waits', () => {
    const { planner, claim } = setUp();
    for (let n = 0; n < 11; n += 1) planner.expect(claim(`d${n}.example`, 'noisy'));
    planner.expect(claim('e.example', 'quiet'));
    expect(planner.plan().destinationLimits.full).toEqual(['noisy']);
    expect(planner.hasRoom).toBe(true);
    for (let n = 0; n < 10; n += 1) planner.expect(claim(`f${n}.example`, 'third'));
    expect(planner.plan().limit).toBe(0);
  });
});
