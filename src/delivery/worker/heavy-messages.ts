interface Heavy {
  readonly message: Promise<Buffer>;
  readonly weight: number;
  users: number;
}

/**
 * Messages with attachments and copies for one recipient, in memory only while they are sent and never more than
 * `maxBytes` of content at a time (one alone may weigh more): a worker that takes a hundred of them from the queue would
 * otherwise hold a gigabyte. Deliveries with one id share its bytes. One that exceeds the limit waits for its turn.
 */
export class HeavyMessages {
  private readonly held = new Map<string, Heavy>();
  private heldBytes = 0;
  private readonly queue: { readonly weight: number; readonly enter: () => void }[] = [];

  constructor(private readonly maxBytes: number) {}

  /**
   * Runs `work` with the message.
   * @param weight bytes of its content
   * @param make called once the limit allows, unless another recipient has the message already
   */
  async use<T>(
    { id, weight }: { readonly id: string; readonly weight: number },
    make: () => Promise<Buffer>,
    work: (message: Buffer) => Promise<T>,
  ): Promise<T> {
    const heavy = this.held.get(id) ?? this.hold(id, weight, make);
    heavy.users += 1;
    try {
      return await work(await heavy.message);
    } finally {
      heavy.users -= 1;
      if (heavy.users === 0) this.drop(id, heavy);
    }
  }

  private hold(id: string, weight: number, make: () => Promise<Buffer>): Heavy {
    const heavy = { message: this.enter(weight).then(make), weight, users: 0 };
    this.held.set(id, heavy);
    return heavy;
  }

  private drop(id: string, heavy: Heavy): void {
    this.held.delete(id);
    this.heldBytes -= heavy.weight;
    for (let next = this.queue[0]; next && this.fits(next.weight); next = this.queue[0]) {
      this.queue.shift();
      this.heldBytes += next.weight;
      next.enter();
    }
  }

  private enter(weight: number): Promise<void> {
    if (this.queue.length > 0 || !this.fits(weight)) {
      return new Promise((enter) => this.queue.push({ weight, enter }));
    }
    this.heldBytes += weight;
    return Promise.resolve();
  }

  private fits(weight: number): boolean {
    return this.heldBytes === 0 || this.heldBytes + weight <= this.maxBytes;
  }
}
