import { setUpPlanner } from '../../../../test/setup/claim-planner';
import type { Expected } from './claim-plan';

describe('how much of a destination', () => {
  it('is for an unproven one what may begin now, for a prompt one three times its limit', () => {
    const { slots, wait, limits } = setUpPlanner();
    slots.prompt.add('busy');
    slots.shaped.push({ key: 'slow', destinations: ['s1.example', 's2.example'], limit: 5, active: 1 });
    slots.shaped.push({ key: 'busy', destinations: ['b.example'], limit: 4, active: 2 });
    slots.groups.set('s1.example', 'slow').set('s2.example', 'slow').set('b.example', 'busy');
    expect(limits('s1.example', 's2.example', 'b.example')).toEqual([4, 4, 10]);
    wait(3, 's1.example');
    wait(4, 'b.example');
    expect(limits('s1.example', 's2.example', 'b.example')).toEqual([1, 1, 6]);
    wait(2, 's1.example');
    wait(1, 'b.example');
    expect(limits('s1.example', 's2.example', 'b.example')).toEqual([0, 0, 0]);
  });

  it('is never less than nothing, even where fewer are allowed than are under way', () => {
    const { slots, planner, limits } = setUpPlanner();
    slots.prompt.add('b.example');
    slots.shaped.push({ key: 'a.example', destinations: ['a.example'], limit: 1, active: 3 });
    slots.shaped.push({ key: 'b.example', destinations: ['b.example'], limit: 1, active: 4 });
    slots.shaped.push({ key: 'c.example', destinations: ['c.example'], limit: 1, active: 0 });
    expect(limits('a.example', 'b.example', 'c.example')).toEqual([0, 0, 1]);
    expect(planner.plan()).toMatchObject({
      filter: { blocked: ['a.example', 'b.example'] },
      blockedGroups: ['a.example', 'b.example'],
    });
    expect(planner.heldBack()).toEqual({ all: false, destinations: ['a.example', 'b.example'] });
  });

  it('names few of those at which nothing can start: none of a large group, and of all together a thousand', () => {
    const { slots, planner } = setUpPlanner();
    const members = (count: number) => Array.from({ length: count }, (_, n) => `d${n}.example`);
    slots.shaped.push({ key: 'large', destinations: members(33), limit: 0, active: 0 });
    slots.shaped.push({ key: 'small', destinations: members(32), limit: 0, active: 0 });
    expect(planner.plan().filter.blocked).toEqual(members(32));
    expect(planner.plan().blockedGroups).toEqual(['large', 'small']);
    expect(planner.heldBack().destinations).toHaveLength(65);
    for (let n = 0; n < 40; n += 1) slots.shaped.push({ key: `k${n}`, destinations: members(32), limit: 0, active: 0 });
    expect(planner.plan().filter.blocked).toHaveLength(1_000);
  });

  it('is less by what only waits, and what a new one starts with of any other', () => {
    const { planner, wait, limits } = setUpPlanner();
    wait(1, 'new.example');
    expect(limits('new.example', 'other.example')).toEqual([1, 2]);
    expect(planner.plan().blockedGroups).toEqual([]);
    wait(1, 'new.example');
    expect(planner.plan().blockedGroups).toEqual(['new.example']);
  });

  it('names a thousand prompt ones at a time for tenants that have no others, in turn', () => {
    const { slots, planner } = setUpPlanner();
    const destinations = Array.from({ length: 1_500 }, (_, n) => `d${n}.example`);
    slots.prompt.add('mx.example');
    slots.shaped.push({ key: 'mx.example', destinations, limit: 2, active: 0 });
    const proven = () => planner.plan().filter.provenOnly?.destinations ?? [];
    expect(proven()).toEqual([]);
    slots.underWay.add('slow');
    const [first, second] = [proven(), proven()];
    expect([first.length, second.length]).toEqual([1_000, 1_000]);
    expect(new Set([...first, ...second])).toEqual(new Set(destinations));
  });

  it('names those of several groups one after the other, and none of a group that takes no more', () => {
    const { slots, planner } = setUpPlanner();
    const members = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name}${n}.example`);
    for (const [key, count, limit] of [
      ['a', 400, 2],
      ['b', 700, 2],
      ['c', 300, 0],
      ['d', 500, 2],
    ] as const) {
      // prettier-ignore
      slots.prompt.add(key);
      slots.shaped.push({ key, destinations: members(key, count), limit, active: 0 });
    }
    slots.underWay.add('slow');
    const all = [...members('a', 400), ...members('b', 700), ...members('d', 500)];
    const proven = () => planner.plan().filter.provenOnly?.destinations;
    expect(proven()).toEqual(all.slice(0, 1_000));
    expect(proven()).toEqual([...all.slice(1_000), ...all.slice(0, 400)]);
    expect(proven()).toEqual(all.slice(400, 1_400));
  });

  it('has no bounds where one hop takes all', () => {
    const { slots, planner, wait } = setUpPlanner('unbounded');
    slots.shaped.push({ key: 'hop', destinations: ['hop'], limit: 0, active: 0 });
    slots.groups.set('a.example', 'hop');
    wait(1, 'a.example');
    expect(planner.plan()).toMatchObject({ filter: { blocked: [] }, blockedGroups: [] });
    expect(planner.roomOf('a.example')).toEqual({ key: 'hop', limit: Infinity });
    expect(planner.couldClaim('a.example')).toBe(true);
  });

  it('moves with a claim whose route names another group', () => {
    const { slots, planner, wait, limits } = setUpPlanner();
    slots.shaped.push({ key: 'mx', destinations: ['a.example'], limit: 3, active: 0 });
    const [first, second] = wait(2, 'a.example') as [Expected, Expected];
    expect(planner.regroup(first)).toBe(first);
    slots.groups.set('a.example', 'mx');
    slots.prompt.add('mx');
    const moved = planner.regroup(second);
    expect(moved).toMatchObject({ key: 'mx', isUnproven: false, claim: second.claim });
    expect(planner.size).toBe(2);
    expect(limits('a.example')).toEqual([8]);
    planner.leave(first);
    planner.leave(moved);
    expect(planner.size).toBe(0);
    expect(limits('a.example')).toEqual([9]);
  });
});
