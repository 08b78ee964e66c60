import { NIL_ID } from '../ids';

interface Turn {
  readonly organizationId: string;
}

/**
 * Takes turns in background work: walks the organizations with work in the order of their ids, each time from the end of the
 * last walk, so that one with a long backlog gets no more turns than one with a single item. Each process walks by itself.
 */
export class OrganizationRing {
  private last = NIL_ID;

  /**
   * The next turns, in the order of the organizations' ids; empty when there is nothing to do for any of them.
   * @param read those of organizations with an id greater than the given one
   */
  async next<T extends Turn>(read: (after: string) => Promise<readonly T[]>): Promise<T[]> {
    let found = await read(this.last);
    if (found.length === 0 && this.last !== NIL_ID) found = await read(NIL_ID);
    const turns = [...found].sort((one, other) => (one.organizationId < other.organizationId ? -1 : 1));
    this.last = turns.at(-1)?.organizationId ?? NIL_ID;
    return turns;
  }
}
