/** The work of each release on the new schema. */
export class ReleaseLog {
  #releaseOf = new Map();
  #portsOf = new Map();
  #migration;
  #counts = { old: none(), new: none() };

  /** @param sinkLedger reports deliveries */
  constructor(sinkLedger) {
    sinkLedger.onAnswered(({ client }) => this.#count(this.#releaseOf.get(client), 'delivered'));
  }

  /** A process is ready. */
  started({ client }, port, release) {
    this.#releaseOf.set(client, release);
    if (port !== undefined) this.#portsOf.set(port, release);
    this.#count(release, 'starts');
  }

  /** `old` or `new`; undefined for a process that has not been ready. */
  releaseOf(client) {
    return this.#releaseOf.get(client);
  }

  answered(port) {
    this.#count(this.#portsOf.get(port), 'answered');
  }

  migrated(applied, ms) {
    this.#migration = { applied, ms: Math.round(ms) };
  }

  get summary() {
    return { migration: this.#migration ?? { applied: [], ms: 0 }, ...this.#counts };
  }

  /** Kinds of work that a release has not done at all on the new schema, so that they are untested. */
  get idle() {
    return Object.entries(this.#counts).flatMap(([release, counts]) =>
      Object.entries(counts).flatMap(([what, count]) => (count === 0 ? [`the ${release} release: no ${what}`] : [])),
    );
  }

  #count(release, what) {
    if (this.#migration && release) this.#counts[release][what] += 1;
  }
}

function none() {
  return { starts: 0, answered: 0, delivered: 0 };
}
