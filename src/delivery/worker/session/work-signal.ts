import { Injectable, Logger } from '@nestjs/common';
import { SECOND } from '../../../common/clock';
import { DatabaseUrl } from '../../../database/pool/database.service';
import { DriverClient } from '../../../database/statements/driver-client';
import { isCallFor, parseCall, type WorkCall, type WorkerRank } from '../../queue/work-call';
import { WORK_CHANNEL, WorkerWaker } from '../../queue/worker-waker.service';

const RECONNECT_MS = SECOND;
/** Nobody waits for it; given up early, it would only be work for a database that is too busy to open one. */
const CONNECT_TIMEOUT_MS = 10 * SECOND;

/** Names kept until they are read; with more, any tenant may have work. */
const MOST_NAMED = 1_000;
/** Deliveries that are worth another worker: what one claims at a time, or less. */
const PER_WORKER = 50;

/** New work that has been announced. */
export interface Called {
  /** Undefined: of any organization. */
  readonly organizationIds: ReadonlySet<string> | undefined;
  /** Some of it was announced to a part of the workers only: one that has no room for it has to pass it on. */
  readonly isForSome: boolean;
}

export const NONE: Called = { organizationIds: new Set(), isForSome: false };

/**
 * Receives the notifications of accepting processes on a connection of its own. They are hints: `wait` ends after its time
 * limit anyway, so a broken connection costs latency, never mail.
 */
@Injectable()
export class WorkSignal {
  /** A database that takes connections and does not reply would otherwise hold the only one for good. */
  protected readonly queryTimeoutMs: number = 5 * SECOND;
  private readonly logger = new Logger(WorkSignal.name);
  private client: DriverClient | undefined;
  private reconnect: NodeJS.Timeout | undefined;
  private pending = false;
  private called = NONE;
  private rank: WorkerRank = { workers: 1, rank: 0 };
  private wakeUp: (() => void) | undefined;
  private stopped = false;
  private hasLeft = false;
  private onCall: (() => void) | undefined;

  constructor(
    private readonly database: DatabaseUrl,
    private readonly waker: WorkerWaker,
  ) {}

  /** @param onCall is called at each call, whether or not anything waits */
  start(onCall?: () => void): void {
    this.stopped = false;
    this.onCall = onCall;
    void this.connect();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.reconnect);
    this.notify();
    const { client } = this;
    this.client = undefined;
    await client?.leave();
  }

  /** Signals that there may be work, or room for it. */
  notify(): void {
    this.pending = true;
    this.wakeUp?.();
  }

  /** Signals new work, of any organization by default. */
  call({ organizationIds, isForSome }: Called = { organizationIds: undefined, isForSome: false }): void {
    this.keep({ organizationIds, isForSome });
    this.onCall?.();
  }

  /** As `call`, of what has been announced before and was not found yet. */
  keep({ organizationIds, isForSome }: Called): void {
    this.called = {
      organizationIds: union(this.called.organizationIds, organizationIds),
      isForSome: this.called.isForSome || isForSome,
    };
    this.notify();
  }

  /** Of what has been announced since the last time, some organizations' part; the rest stays. */
  takeCallsOf(isWanted: (organizationId: string) => boolean, most: number): Called {
    const { organizationIds, isForSome } = this.called;
    const taken = new Set([...(organizationIds ?? [])].filter(isWanted).slice(0, most));
    if (!organizationIds || taken.size === 0) return NONE;
    const left = new Set([...organizationIds].filter((id) => !taken.has(id)));
    this.called = { organizationIds: left, isForSome: isForSome && left.size > 0 };
    return { organizationIds: taken, isForSome };
  }

  /** What has been announced since the last time. */
  takeCalled(): Called {
    const { called } = this;
    this.called = NONE;
    return called;
  }

  /** Announces to all workers what this one has no room for. */
  passOn({ organizationIds, isForSome }: Called): void {
    if (isForSome) this.waker.wake({ count: Infinity, organizationIds });
  }

  /** This worker takes nothing more: it passes on what is announced to it. */
  leave(): void {
    this.hasLeft = true;
    this.passOn(this.takeCalled());
  }

  /** Which of the calls for some workers only are for this one. */
  setRank(rank: WorkerRank): void {
    this.rank = rank;
  }

  /** Resolves at the next notification, at once if one came since the last wait, or after `timeoutMs`. */
  wait(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.wakeUp?.(), timeoutMs);
      this.wakeUp = () => {
        clearTimeout(timer);
        this.wakeUp = undefined;
        this.pending = false;
        resolve();
      };
      if (this.pending) this.wakeUp();
    });
  }

  private async connect(): Promise<void> {
    const client = new DriverClient({
      connectionString: this.database.direct,
      application_name: 'waybill-listen',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: this.queryTimeoutMs,
      keepAlive: true,
    });
    client.on('error', () => this.lose(client));
    client.on('end', () => this.lose(client));
    client.on('notification', ({ payload }) => this.receive(parseCall(payload)));
    this.client = client;
    try {
      await client.connect();
      await client.query(`listen ${WORK_CHANNEL}`);
      this.call();
    } catch (error) {
      this.logger.debug(`${this.database.directName} sends no notifications: ${(error as Error).message}`);
      this.lose(client);
    }
  }

  private receive(call: WorkCall): void {
    if (!isCallFor(this.rank, call, PER_WORKER)) return;
    const called = { organizationIds: call.organizationIds, isForSome: Number.isFinite(call.count) };
    if (this.hasLeft) this.passOn(called);
    else this.call(called);
  }

  private lose(client: DriverClient): void {
    if (this.client !== client) return;
    this.client = undefined;
    void client.leave();
    if (!this.stopped) this.reconnect = setTimeout(() => void this.connect(), RECONNECT_MS).unref();
  }
}

function union(
  one: ReadonlySet<string> | undefined,
  other: ReadonlySet<string> | undefined,
): Called['organizationIds'] {
  const all = one && other && new Set([...one, ...other]);
  return all && all.size <= MOST_NAMED ? all : undefined;
}
