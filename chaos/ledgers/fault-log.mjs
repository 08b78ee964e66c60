/** Only gaps longer than the delays of one machine's network and a busy event loop have another cause. */
const TOLERANCE_MS = 2_000;
const DEATHS = ['kill', 'crash'];

/** Whether a disturbance has ended the process that it hit. */
export function isDeath({ kind }) {
  return DEATHS.includes(kind);
}

/**
 * The faults with their times, and the mail that each dead worker held.
 *
 * A disturbance is `{kind, name, client, at, until, held, pastTheDot}`: `client` is the life of the worker that it hit, by its
 * name in EHLO, and undefined when it hit all; `until` is Infinity while it lasts, and after a death: what a dead worker had
 * written may still be on its way.
 */
export class FaultLog {
  disturbances = [];
  /** `{at, until}` of each time without a database. */
  outages = [];
  /** `{at, until}` of each time after the first start in which no worker could claim mail. */
  workerless = [];
  #workers = new Set();
  /** By address: mail that a worker held when it was killed, until another worker delivers it. */
  #orphans = new Map();
  /** `{address, disturbance, deaths, client, ms, answeredAt}` of mail that `client` delivered after as many workers had died with it. */
  recoveries = [];

  /** @param sinkLedger reports deliveries @param isPrompt whether mail to an address is delivered at once when it can be */
  constructor(sinkLedger, isPrompt) {
    this.isPrompt = isPrompt;
    this.sink = sinkLedger;
    sinkLedger.onAnswered((copy) => this.#delivered(copy));
  }

  begin(kind, life, at = performance.now()) {
    const disturbance = { kind, name: life.name, client: life.client, at, until: Infinity };
    this.disturbances.push(disturbance);
    return disturbance;
  }

  /** A time without a database explains nothing by itself, unless it is so long that living workers lose their leases. */
  outage(at, until, leaseSeconds) {
    this.outages.push({ at, until });
    if (until - at < (leaseSeconds * 1_000) / 2) return;
    this.disturbances.push({ kind: 'outage', name: 'database', client: undefined, at, until });
  }

  /** A worker is ready, or able to claim mail again. */
  workerReady({ client }, at = performance.now()) {
    const last = this.workerless.at(-1);
    if (this.#workers.size === 0 && last) last.until = at;
    this.#workers.add(client);
  }

  /** A worker claims nothing any more: it ends, has died, is stopped, cut off from the database, or has a wrong clock. */
  workerGone({ client }, at = performance.now()) {
    if (this.#workers.delete(client) && this.#workers.size === 0) this.workerless.push({ at, until: Infinity });
  }

  /** Addresses that the dead worker had claimed; those of them that have not been delivered are waited for. */
  orphaned(disturbance, addresses) {
    disturbance.held = addresses.length;
    for (const address of addresses) {
      if (!this.isPrompt(address) || this.sink.taken(address).length > 0) continue;
      const deaths = 1 + (this.#orphans.get(address)?.deaths ?? 0);
      this.#orphans.set(address, { disturbance, deaths });
    }
  }

  /** Mail that is still awaited. */
  get orphanCount() {
    return this.#orphans.size;
  }

  /**
   * The disturbance that explains why this copy was followed by another one: it hit the worker that sent the copy, while
   * the final dot was on its way or the reply to it not yet safe. Undefined when nothing does.
   * @param leaseMs how long others wait for a worker that has died
   */
  explanationOf(copy, leaseMs) {
    const hit = this.disturbances.find((one) => {
      const isHit = one.client === undefined || one.client === copy.client;
      return isHit && copy.answeredAt >= one.at - TOLERANCE_MS && copy.dotAt <= one.until + TOLERANCE_MS;
    });
    return hit ?? this.#deathBeforeCommit(copy, leaseMs);
  }

  /**
   * The death of the copy's worker, when nobody could know of the reply that it had read: no database since then, to commit it, and its next
   * life, which would read the journal, was hit within the lease too.
   */
  #deathBeforeCommit({ client, answeredAt }, leaseMs) {
    return this.disturbances.find((death) => {
      if (death.client !== client || !isDeath(death)) return false;
      const isUncommitted = this.outages.some(
        ({ at, until }) => at <= answeredAt + TOLERANCE_MS && answeredAt <= until && death.at <= until + TOLERANCE_MS,
      );
      const isNext = ({ name, at }) => name === death.name && at > death.at && at < death.at + leaseMs;
      return isUncommitted && answeredAt <= death.at && this.disturbances.some(isNext);
    });
  }

  #delivered({ address, client, answeredAt }) {
    const orphan = this.#orphans.get(address);
    if (!orphan || orphan.disturbance.client === client) return;
    const { disturbance, deaths } = orphan;
    this.#orphans.delete(address);
    this.recoveries.push({ address, disturbance, deaths, client, ms: answeredAt - disturbance.at, answeredAt });
  }
}
