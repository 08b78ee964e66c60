/** Lets one caller at a time through for each key; the others wait for their turn. */
export class InFlightKeys {
  private readonly running = new Map<string, Promise<void>>();

  /** Waits for the keys (in a fixed order, so that two callers never wait for each other), then runs `work`. */
  async run<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const own = [...new Set(keys)].sort();
    const done: (() => void)[] = [];
    try {
      for (const key of own) done.push(await this.enter(key));
      return await work();
    } finally {
      for (const leave of done) leave();
    }
  }

  private async enter(key: string): Promise<() => void> {
    for (let other = this.running.get(key); other; other = this.running.get(key)) await other;
    let finish: () => void = () => undefined;
    this.running.set(key, new Promise((resolve) => (finish = resolve)));
    return () => {
      this.running.delete(key);
      finish();
    };
  }
}
