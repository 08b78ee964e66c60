import { ClaimPlanner, type Expected } from '../../src/delivery/worker/claims/claim-plan';
import type { Load } from '../../src/delivery/policy/destinations/destination-bounds';
import type { WorkerSlots } from '../../src/delivery/worker/slots/worker-slots';
import { FakeClock } from '../doubles/fake-clock';
import { claimOf } from './recipient-copies';

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
export function setUpPlanner(start: number | 'unbounded' = 2) {
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
