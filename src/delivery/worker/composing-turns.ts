import { FairOrder } from '../policy/fair-order';

/**
 * Started at a time: enough that the thread pool, which signs, never idles while the event loop is busy; few, because the pool
 * works in order of arrival.
 */
const STARTED = 32;
/** Started in one turn of the event loop, 0.2 ms each: what has just come is not kept waiting by a hundred that came together. */
const STARTED_IN_A_TURN = 12;

interface Task {
  start(): Promise<void>;
}

/**
 * Composing and signing, tenants in turn: a tenant with a single mail does not wait until the hundred that others have in
 * hand are signed.
 */
export class ComposingTurns {
  private readonly order = new FairOrder();
  private readonly tasks = new Map<string, Task[]>();
  private started = 0;
  private startedInTurn = 0;

  /** @param most tasks that run at a time */
  constructor(private readonly most = STARTED) {}

  /** Runs `work` when it is the tenant's turn; a tenant's own tasks begin in order. */
  run<T>(tenant: string, work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const start = async () => work().then(resolve, reject);
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
      if (this.startedInTurn === 1) setImmediate(() => this.goOn());
      void task.start().finally(() => {
        this.started -= 1;
        this.startNext();
      });
    }
  }

  private goOn(): void {
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
