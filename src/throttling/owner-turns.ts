import { FairLimit } from '../common/async/fair-turns';
import { ownedNetworkOf } from '../common/network';

interface OwnTurns {
  readonly turns: FairLimit;
  users: number;
}

/**
 * Work for client networks: of the networks of one owner one piece at a time, networks in rotation, and few pieces in all, owners in
 * rotation. Twenty more of a network wait.
 */
export class OwnerTurns {
  private readonly owners: FairLimit;
  private readonly within = new Map<string, OwnTurns>();

  /** @param atOnce pieces of all owners together */
  constructor(atOnce: number) {
    this.owners = new FairLimit(atOnce);
  }

  /** @throws as `FairLimit.run` */
  async run<T>(network: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const owner = ownedNetworkOf(network);
    const own = this.within.get(owner) ?? { turns: new FairLimit(1), users: 0 };
    this.within.set(owner, own);
    own.users += 1;
    try {
      return await own.turns.run(network, () => this.owners.run(owner, work, signal), signal);
    } finally {
      own.users -= 1;
      if (own.users === 0) this.within.delete(owner);
    }
  }
}
