import { FakeClock } from '../../../../test/doubles/fake-clock';
import { claimOf } from '../../../../test/setup/recipient-copies';
import { ClaimPlanner, type Expected } from './claim-plan';
import type { Load } from '../../policy/destination-bounds';
import type { WorkerSlots } from '../slots/worker-slots';

/** Slots whose state a test sets: every number that the planner looks at. */
class SetSlots {
  free = 10;
  isHeldBack = false;
  unprovenRoomInAll = 100;
  readonly groups = new Map<string, string>();
  readonly prompt = new Set<string>();
  readonly shaped: (Load & { readonly destinations: string[] })[] = [];
  readonly rooms = new Map<string, number>();
  readonly underWay = new Set<string>();

  keyOf = (destination: string) => this.groups.get(destination) ?? destination;
  isPromptGroup = (key: string) => this.prompt.has(key);
  loads = () => this.shaped;
  loadOf = (key: string): Load => this.shaped.find((load) => load.key === key) ?? { key, limit: 2, active: 0 };
  membersOf = (key: string, from = 0, most = Infinity) =>
    (this.shaped.find((load) => load.key === key)?.destinations ?? [key]).slice(from, from + most);
  sizeOf = (key: string) => this.membersOf(key).length;
  unprovenTenants = () => [...this.underWay];
  hasUnproven = (tenant: string) => this.underWay.has(tenant);
  unprovenRoom = (tenant: string, part = 1) => Math.floor((this.rooms.get(tenant) ?? 0) * part);
}

/** A worker of 10 slots that begins 20 attempts a second: 30 claims find room, 20 of them ahead of their time. */
function setUp(start: number | 'unbounded' = 2) {
  const startConcurrency = start === 'unbounded' ? undefined : start;
  const slots = new SetSlots();
  slots.prompt.add('prompt.example');
  const clock = new FakeClock();
  const planner = new ClaimPlanner(slots as unknown as WorkerSlots, { slots: 10, startConcurrency }, clock);
  const wait = (count: number, destination = 'prompt.example', organizationId = 'a'): Expected[] =>
    Array.from({ length: count }, () => planner.expect(claimOf(0, { organizationId, destination })));
  const limits = (...destinations: string[]) => destinations.map((one) => planner.roomOf(one).limit);
  const restricted = () => planner.plan().filter.provenOnly?.organizationIds;
  const begin = (count: number) => wait(count).forEach((one) => planner.begin(one));
  begin(20);
  return { slots, planner, clock, wait, begin, limits, restricted };
}

describe('how much a claim may take', () => {
  it('is what may begin and what is worth having behind it, less what waits', () => {
    const { slots, planner, wait } = setUp();
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
    const { planner, clock, begin } = setUp();
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
    const { slots, planner } = setUp('unbounded');
    slots.isHeldBack = true;
    expect([planner.plan().limit, planner.hasRoom, planner.couldClaim('a.example')]).toEqual([0, false, false]);
    expect(planner.heldBack()).toEqual({ all: true, destinations: [] });
  });

  it('counts what waits at unproven destinations as far as it may begin', () => {
    const { slots, planner, wait } = setUp();
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

describe('how much of a destination', () => {
  it('is for an unproven one what may begin now, for a prompt one three times its limit', () => {
    const { slots, wait, limits } = setUp();
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
    const { slots, planner, limits } = setUp();
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
    const { slots, planner } = setUp();
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
    const { planner, wait, limits } = setUp();
    wait(1, 'new.example');
    expect(limits('new.example', 'other.example')).toEqual([1, 2]);
    expect(planner.plan().blockedGroups).toEqual([]);
    wait(1, 'new.example');
    expect(planner.plan().blockedGroups).toEqual(['new.example']);
  });

  it('names a thousand prompt ones at a time for tenants that have no others, in turn', () => {
    const { slots, planner } = setUp();
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
    const { slots, planner } = setUp();
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
    const { slots, planner, wait } = setUp('unbounded');
    slots.shaped.push({ key: 'hop', destinations: ['hop'], limit: 0, active: 0 });
    slots.groups.set('a.example', 'hop');
    wait(1, 'a.example');
    expect(planner.plan()).toMatchObject({ filter: { blocked: [] }, blockedGroups: [] });
    expect(planner.roomOf('a.example')).toEqual({ key: 'hop', limit: Infinity });
    expect(planner.couldClaim('a.example')).toBe(true);
  });

  it('moves with a claim whose route names another group', () => {
    const { slots, planner, wait, limits } = setUp();
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

describe('which tenants may have prompt destinations only', () => {
  it('those that wait with their share of others, until half of it is free again', () => {
    const { slots, wait, restricted } = setUp();
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
    const { slots, restricted, wait } = setUp();
    slots.underWay.add('b');
    expect(restricted()).toEqual(['b']);
    slots.underWay.clear();
    expect(restricted()).toEqual([]);
    const [one] = wait(1, 'slow.example', 'c');
    expect(restricted()).toEqual(['c']);
    expect(one?.isUnproven).toBe(true);
  });

  it('and which destinations those are', () => {
    const { slots, planner, wait } = setUp();
    slots.shaped.push({ key: 'slow.example', destinations: ['slow.example'], limit: 2, active: 0 });
    wait(1, 'prompt.example');
    slots.underWay.add('b');
    expect(planner.plan().filter.provenOnly?.destinations).toEqual(['prompt.example']);
  });
});

describe('which tenants get nothing', () => {
  it('those that wait with more than there is left for others', () => {
    const { planner, wait } = setUp();
    wait(10);
    expect(planner.plan().full).toEqual([]);
    wait(1);
    expect(planner.plan().full).toEqual(['a']);
  });

  it('but not for what will not begin soon', () => {
    const { slots, planner, wait } = setUp();
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
    const { planner, wait } = setUp();
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
    const { slots, planner, wait } = setUp('unbounded');
    wait(30);
    expect([planner.plan().limit, planner.planForNewcomers().limit]).toEqual([0, 5]);
    slots.isHeldBack = true;
    expect(planner.planForNewcomers().limit).toBe(0);
  });
});

describe('when an attempt has ended', () => {
  it('a claim could take more where its destination has room', () => {
    const { slots, planner, wait } = setUp();
    slots.shaped.push({ key: 'full.example', destinations: ['full.example'], limit: 2, active: 2 });
    expect([planner.couldClaim('full.example'), planner.couldClaim('new.example')]).toEqual([false, true]);
    wait(20);
    expect(planner.couldClaim('new.example')).toBe(false);
  });

  it('all is worth another claim after one that took something', () => {
    const { planner } = setUp();
    expect(planner.wasCut('a', 'a.example')).toBe(false);
    planner.note(planner.plan(), [claimOf(0)]);
    expect(planner.wasCut('a', 'a.example')).toBe(true);
    planner.note(planner.plan(), []);
    expect(planner.wasCut('a', 'a.example')).toBe(false);
  });

  it('and after one for newcomers that took something, until one that looks at all finds nothing', () => {
    const { planner } = setUp();
    planner.noteNewcomers([]);
    expect(planner.wasCut('a', 'a.example')).toBe(false);
    planner.noteNewcomers([claimOf(0)]);
    planner.noteNewcomers([]);
    expect(planner.wasCut('a', 'a.example')).toBe(true);
    planner.note(planner.plan(), []);
    expect(planner.wasCut('a', 'a.example')).toBe(false);
  });

  it('after one that found nothing only what it left out: destinations, tenants with their share, and full ones', () => {
    const { slots, planner, wait } = setUp();
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
