import { LRUCache } from 'lru-cache';
import { atMost } from '../../../common/bounded-cache';

/** Destinations whose group is remembered. */
const MAX_GROUPED = 50_000;

/** Which destinations have the same mail exchangers, as far as this worker has found it out. Each is of one group. */
export class DestinationGroups {
  private readonly members = new Map<string, Set<string>>();
  private readonly groups = new LRUCache<string, string>({
    ...atMost(MAX_GROUPED),
    dispose: (group, destination) => this.leave(destination, group),
  });

  /** The group of a destination: before any look-up itself. */
  keyOf(destination: string): string {
    return this.groups.get(destination) ?? destination;
  }

  learn(destination: string, group: string): void {
    if (this.groups.get(destination) === group) return;
    this.groups.set(destination, group);
    const members = this.members.get(group) ?? new Set();
    this.members.set(group, members.add(destination));
  }

  /**
   * Its destinations, by default all of them: a large receiver has tens of thousands. One whose name was its group, and that has
   * another one now, is not among them.
   */
  membersOf(key: string, from = 0, most = Infinity): string[] {
    const found: string[] = [];
    let at = 0;
    for (const member of this.members.get(key) ?? (this.keyOf(key) === key ? [key] : [])) {
      if (found.length >= most) break;
      if (at >= from) found.push(member);
      at += 1;
    }
    return found;
  }

  /** How many those are. */
  sizeOf(key: string): number {
    return this.members.get(key)?.size ?? (this.keyOf(key) === key ? 1 : 0);
  }

  private leave(destination: string, group: string): void {
    const members = this.members.get(group);
    members?.delete(destination);
    if (members?.size === 0) this.members.delete(group);
  }
}
