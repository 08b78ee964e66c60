import { setUpPlanner } from '../../../../test/setup/claim-planner';
import { claimOf } from '../../../../test/setup/recipient-copies';
import type { Expected } from './claim-plan';

describe('how much a claim may take', () => {
  it('is what may begin and what is worth having behind it, less what waits', () => {
    const { slots, planner, wait } = setUpPlanner();
    expect([planner.plan().limit, planner.size]).toEqual([30, 0]);
    const [one] = wait(19);
    expect([planner.plan().limit, planner.hasRoom, planner.size]).toEqual([11, true, 19]);
    wait(1);
    expect([planner.plan().limit, planner.hasRoom, planner.size]).toEqual([0, false, 20]);
    planner.leave(one as Expected);
    expect([planner.plan().limit, planner.size]).toEqual([11, 19]);
    slots.free = 9;
    expect(planner.plan().limit).toBe(0);
  });

  it('is what begins within a second, beside what may begin now: half of the slots at least, and twice as many at most', () => {
    const { planner, clock, begin } = setUpPlanner();
    const limitAfter = (ms: number, count = 0) => {
      clock.advance(ms);
      begin(count);
      return planner.plan().limit;
    };
    expect(limitAfter(0, 1_000)).toBe(10 + 20);
    expect(limitAfter(1_500, 8)).toBe(10 + 20);
    expect(limitAfter(1_000, 3)).toBe(10 + 8);
    expect(limitAfter(1_000)).toBe(10 + 5);
    expect(limitAfter(1_000_000, 7)).toBe(10 + 7);
    expect(limitAfter(1_000_000)).toBe(10 + 5);
  });

  it('is nothing while the one hop is held back', () => {
    const { slots, planner } = setUpPlanner('unbounded');
    slots.isHeldBack = true;
    expect([planner.plan().limit, planner.hasRoom, planner.couldClaim('a.example')]).toEqual([0, false, false]);
    expect(planner.heldBack()).toEqual({ all: true, destinations: [] });
  });

  it('counts what waits at unproven destinations as far as it may begin', () => {
    const { slots, planner, wait } = setUpPlanner();
    slots.rooms.set('a', 3).set('b', 1);
    wait(5, 'slow.example', 'a');
    expect(planner.plan().limit).toBe(27);
    wait(2, 'slow.example', 'b');
    expect(planner.plan().limit).toBe(26);
    wait(4, 'prompt.example', 'b');
    expect(planner.plan().limit).toBe(22);
    slots.unprovenRoomInAll = 1;
    expect(planner.plan().limit).toBe(25);
  });
});

describe('which tenants may have prompt destinations only', () => {
  it('those that wait with their share of others, until half of it is free again', () => {
    const { slots, wait, restricted } = setUpPlanner();
    slots.rooms.set('a', 3);
    wait(2, 'slow.example');
    expect(restricted()).toEqual([]);
    slots.rooms.set('a', 2);
    expect(restricted()).toEqual(['a']);
    slots.rooms.set('a', 5);
    expect(restricted()).toEqual(['a']);
    slots.rooms.set('a', 6);
    expect(restricted()).toEqual([]);
  });

  it('those that have such a share under way, and none that has nothing of it', () => {
    const { slots, restricted, wait } = setUpPlanner();
    slots.underWay.add('b');
    expect(restricted()).toEqual(['b']);
    slots.underWay.clear();
    expect(restricted()).toEqual([]);
    const [one] = wait(1, 'slow.example', 'c');
    expect(restricted()).toEqual(['c']);
    expect(one?.isUnproven).toBe(true);
  });

  it('and which destinations those are', () => {
    const { slots, planner, wait } = setUpPlanner();
    slots.shaped.push({ key: 'slow.example', destinations: ['slow.example'], limit: 2, active: 0 });
    wait(1, 'prompt.example');
    slots.underWay.add('b');
    expect(planner.plan().filter.provenOnly?.destinations).toEqual(['prompt.example']);
  });
});

describe('which tenants get nothing', () => {
  it('those that wait with more than there is left for others', () => {
    const { planner, wait } = setUpPlanner();
    wait(10);
    expect(planner.plan().full).toEqual([]);
    wait(1);
    expect(planner.plan().full).toEqual(['a']);
  });

  it('but not for what will not begin soon', () => {
    const { slots, planner, wait } = setUpPlanner();
    slots.rooms.set('a', 4);
    wait(30, 'slow.example');
    expect(planner.plan().full).toEqual([]);
    wait(6);
    expect(planner.plan().full).toEqual([]);
    wait(1);
    expect(planner.plan().full).toEqual(['a']);
  });
});

describe('when enough waits', () => {
  it('newcomers are those with less than an equal part of it, and the others get nothing', () => {
    const { planner, wait } = setUpPlanner();
    const full = () => [...planner.planForNewcomers().full];
    expect(planner.isNewcomer('nobody')).toBe(true);
    wait(19, 'prompt.example', 'a');
    expect(planner.isNewcomer('a')).toBe(true);
    wait(1, 'prompt.example', 'a');
    // Alone, its part is all.
    expect([planner.isNewcomer('a'), planner.isNewcomer('b')]).toEqual([false, true]);
    wait(9, 'prompt.example', 'b');
    expect([planner.isNewcomer('b'), full()]).toEqual([true, ['a']]);
    wait(1, 'prompt.example', 'b');
    expect([planner.isNewcomer('b'), full()]).toEqual([false, ['a', 'b']]);
  });

  it('there is a quarter as much for them, and nothing while the one hop is held back', () => {
    const { slots, planner, wait } = setUpPlanner('unbounded');
    wait(30);
    expect([planner.plan().limit, planner.planForNewcomers().limit]).toEqual([0, 5]);
    slots.isHeldBack = true;
    expect(planner.planForNewcomers().limit).toBe(0);
  });
});

describe('when an attempt has ended', () => {
  it('a claim could take more where its destination has room', () => {
    const { slots, planner, wait } = setUpPlanner();
    slots.shaped.push({ key: 'full.example', destinations: ['full.example'], limit: 2, active: 2 });
    expect([planner.couldClaim('full.example'), planner.couldClaim('new.example')]).toEqual([false, true]);
    wait(20);
    expect(planner.couldClaim('new.example')).toBe(false);
  });

  it('all is worth another claim after one that took something', () => {
    const { planner } = setUpPlanner();
    expect(planner.wasCut('a', 'a.example')).toBe(false);
    planner.note(planner.plan(), [claimOf(0)]);
    expect(planner.wasCut('a', 'a.example')).toBe(true);
    planner.note(planner.plan(), []);
    expect(planner.wasCut('a', 'a.example')).toBe(false);
  });

  it('and after one for newcomers that took something, until one that looks at all finds nothing', () => {
    const { planner } = setUpPlanner();
    planner.noteNewcomers([]);
    expect(planner.wasCut('a', 'a.example')).toBe(false);
    planner.noteNewcomers([claimOf(0)]);
    planner.noteNewcomers([]);
    expect(planner.wasCut('a', 'a.example')).toBe(true);
    planner.note(planner.plan(), []);
    expect(planner.wasCut('a', 'a.example')).toBe(false);
  });

  it('after one that found nothing only what it left out: destinations, tenants with their share, and full ones', () => {
    const { slots, planner, wait } = setUpPlanner();
    slots.shaped.push({ key: 'cut.example', destinations: ['cut.example'], limit: 0, active: 0 });
    slots.shaped.push({ key: 'open.example', destinations: ['open.example'], limit: 3, active: 0 });
    slots.underWay.add('slow');
    const full = wait(11, 'prompt.example', 'full');
    planner.note(planner.plan(), []);
    expect(planner.wasCut('a', 'cut.example')).toBe(true);
    expect([planner.wasCut('a', 'b.example'), planner.wasCut('a', 'open.example')]).toEqual([false, false]);
    expect(planner.wasCut('slow', 'b.example')).toBe(true);
    expect(planner.wasCut('full', 'b.example')).toBe(false);
    full.forEach((one) => planner.leave(one));
    expect(planner.wasCut('full', 'b.example')).toBe(true);
    slots.shaped.length = 0;
    planner.note(planner.plan(), []);
    expect([planner.wasCut('a', 'cut.example'), planner.wasCut('full', 'b.example')]).toEqual([false, false]);
  });
});
