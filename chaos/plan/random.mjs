/**
 * Pseudo-random numbers from a seed (mulberry32): the same on every machine, so that a seed repeats a plan. Not for secrets.
 */
export class Random {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** Evenly from [0, 1). */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let bits = this.#state;
    bits = Math.imul(bits ^ (bits >>> 15), bits | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }

  /** Evenly from [low, high). */
  between(low, high) {
    return low + this.next() * (high - low);
  }

  /** A whole number from low to high, both included. */
  integer(low, high) {
    return Math.floor(this.between(low, high + 1));
  }

  pick(list) {
    return list[this.integer(0, list.length - 1)];
  }

  /** One of the keys, as often as its number says. */
  weighted(weights) {
    const entries = Object.entries(weights);
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [key, weight] of entries) {
      left -= weight;
      if (left < 0) return key;
    }
    return entries.at(-1)[0];
  }

  /** A stream of its own, so that drawing more for one part of a plan leaves the others as they are. */
  fork(salt) {
    return new Random(Math.floor(this.next() * 2 ** 32) ^ salt);
  }
}
