import { Tally } from '../../common/async/holder-turns';
import type { ByteBudget, Reservation } from './byte-budget';
import { FairOrder } from '../policy/turns/fair-order';

interface MessageMaker {
  readonly organizationId: string;
  /** Bytes that composing takes at its peak. */
  readonly cost: number;
  /** Loads and composes; it holds on to no content. */
  readonly make: () => Promise<Buffer>;
}

/**
 * The bytes of one message, which the recipients that have the same ones share.
 *
 *   absent ──begin (the first user), or compose ahead──► composing ──► in memory ──the last user ends──► absent
 *
 * Its bytes are in the budget from `begin` on: what composing may take at first, its own size once it is known.
 */
export class ComposedMessage {
  private users = 0;
  private present: { readonly bytes: Promise<Buffer>; readonly reservation: Reservation } | undefined;

  constructor(
    private readonly budget: ByteBudget,
    private readonly maker: MessageMaker,
  ) {}

  /** True when one more user would not exceed the budget. */
  get mayBegin(): boolean {
    return this.present !== undefined || this.budget.mayTakeLarge(this.maker.organizationId, this.maker.cost);
  }

  get isPresent(): boolean {
    return this.present !== undefined;
  }

  /** Keeps what others free in the budget for its first user; false when that is kept for another. Ends by `begin` or `keepNoRoom`. */
  keepRoom(): boolean {
    return this.budget.reserveNext(this.maker.organizationId, this.maker.cost);
  }

  keepNoRoom(): void {
    this.budget.cancelNext(this.maker.organizationId);
  }

  /** Composes from loaded content, before a connection is free, on the account of small messages. Counts as one user. */
  composeAhead(make: () => Promise<Buffer>): void {
    this.users += 1;
    if (this.present === undefined) this.compose(make, this.budget.takeAhead(this.maker.cost));
  }

  /** Every call needs one `end`. */
  begin(): Promise<Buffer> {
    this.users += 1;
    const { organizationId, cost, make } = this.maker;
    return (this.present ?? this.compose(make, this.budget.takeLarge(organizationId, cost))).bytes;
  }

  end(): void {
    this.users -= 1;
    if (this.users > 0) return;
    this.present?.reservation.free();
    this.present = undefined;
  }

  private compose(make: () => Promise<Buffer>, reservation: Reservation) {
    const bytes = make();
    const present = { bytes, reservation };
    this.present = present;
    // A failure is the attempt's, not the process's.
    bytes.then(
      ({ length }) => this.present === present && reservation.resize(length),
      () => undefined,
    );
    return present;
  }
}

/**
 * Started at a time: enough that the thread pool, which signs, never idles while the event loop is busy; few, because the pool
 * works in order of arrival.
 */
const STARTED = 32;
/** Started in one turn of the event loop, 0.2 ms each: new mail does not wait for a hundred that came together. */
const STARTED_IN_A_TURN = 12;

/** With as many started, the next signature would wait some 5 ms for the thread pool. */
const PRESSED = 8;

interface Task {
  start(): Promise<void>;
}

/**
 * Composing and signing, tenants in turn: a tenant with a single mail does not wait for the hundred of another.
 *
 * Nor does it wait for what the thread pool has been given already: the only mail of a tenant is urgent when many others are started, once
 * in a turn of the event loop. That takes no more of the processors, and at most a tenth of the event loop.
 */
export class ComposingTurns {
  private readonly order = new FairOrder();
  private readonly tasks = new Map<string, Task[]>();
  /** Tasks that wait or run, by tenant. */
  private readonly open = new Tally();
  private started = 0;
  private startedInTurn = 0;
  private isUrgencyTaken = false;

  /** @param most tasks that run at a time, urgent ones aside */
  constructor(private readonly most = STARTED) {}

  /** Runs `work` when it is the tenant's turn; a tenant's own tasks start in order. */
  async run<T>(tenant: string, work: (isUrgent: boolean) => Promise<T>): Promise<T> {
    const isUrgent = this.started >= PRESSED && !this.isUrgencyTaken && this.open.of(tenant) === 0;
    this.open.add(tenant);
    try {
      return await (isUrgent ? this.runNow(work) : this.runInTurn(tenant, work));
    } finally {
      this.open.add(tenant, -1);
    }
  }

  private runNow<T>(work: (isUrgent: boolean) => Promise<T>): Promise<T> {
    this.isUrgencyTaken = true;
    setImmediate(() => (this.isUrgencyTaken = false));
    return work(true);
  }

  private runInTurn<T>(tenant: string, work: (isUrgent: boolean) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const start = async () => work(false).then(resolve, reject);
      const tasks = this.tasks.get(tenant);
      if (tasks) tasks.push({ start });
      else this.tasks.set(tenant, [{ start }]);
      this.order.join(tenant);
      this.startNext();
    });
  }

  private startNext(): void {
    while (this.started < this.most && this.startedInTurn < STARTED_IN_A_TURN) {
      const tenant = this.order.next();
      const task = tenant === undefined ? undefined : this.takeOf(tenant);
      if (!task) return;
      this.started += 1;
      this.startedInTurn += 1;
      if (this.startedInTurn === 1) setImmediate(() => this.resume());
      void task.start().finally(() => {
        this.started -= 1;
        this.startNext();
      });
    }
  }

  private resume(): void {
    this.startedInTurn = 0;
    this.startNext();
  }

  private takeOf(tenant: string): Task | undefined {
    const tasks = this.tasks.get(tenant);
    const task = tasks?.shift();
    this.order.served(tenant);
    if (!tasks || tasks.length > 0) return task;
    this.tasks.delete(tenant);
    this.order.leave(tenant);
    return task;
  }
}
