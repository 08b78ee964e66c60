import { LRUCache } from 'lru-cache';
import { HolderQueue } from '../../../common/async/holder-turns';
import { MINUTE } from '../../../common/clock';
import {
  type AppError,
  ClientGoneError,
  TooManyAtATimeError,
  UnavailableError,
} from '../../../common/errors/app-error';
import type { Metrics } from '../../../common/metrics/metrics';
import { clientGone } from '../../../common/tenant';
import { RenderThread, type Task } from './render-thread';
import type { CheckResult, RenderResult, StoredTemplate, TemplateParts } from './template-engine';

interface Job {
  readonly organizationId: string;
  readonly task: Task;
  /** It waits no longer. */
  readonly begin: () => void;
  readonly resolve: (result: CheckResult | RenderResult | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** After a rendering that had to be terminated, its organization may not use the second thread for this long. */
const SLOW_MS = MINUTE;
const MAX_SLOW = 1_000;
const MAX_WAITING = 5_000;
const MAX_WAITING_PER_ORGANIZATION = 1_000;

/**
 * Parses and renders templates in threads, so that no template blocks the event loop: a job that does not end in time is
 * terminated with its thread, which is restarted.
 *
 * Organizations take turns, and each has one running job at a time: an organization with slow templates delays its own only. The
 * second thread is reserved for organizations without slow templates lately.
 */
export class RenderThreads {
  private readonly threads = [new RenderThread(), new RenderThread()] as const;
  private readonly slow = new LRUCache<string, true>({ max: MAX_SLOW, ttl: SLOW_MS });
  private readonly waiting = new HolderQueue<Job>();
  private readonly inWork = new Set<string>();
  private closed = false;

  constructor(private readonly metrics: Metrics) {}

  check(organizationId: string, source: TemplateParts): Promise<CheckResult | undefined> {
    return this.submit<CheckResult>(organizationId, { kind: 'check', source });
  }

  /**
   * Returns undefined when it did not end in time.
   * @param variables JSON of an object
   * @throws TooManyAtATimeError when too many jobs of the organization wait; UnavailableError when too many of all wait, no
   * thread can be started, or the service stops
   */
  render(template: StoredTemplate, variables: string): Promise<RenderResult | undefined> {
    return this.submit<RenderResult>(template.organizationId, { kind: 'render', template, variables });
  }

  /** Rejects waiting and running jobs: another process may be able to serve the request. */
  async close(): Promise<void> {
    this.closed = true;
    for (const { reject } of this.waiting.takeAll()) reject(stopping());
    await Promise.all(this.threads.map((thread) => thread.end()));
  }

  /** A waiting job whose client has gone is not done. */
  private submit<T>(organizationId: string, task: Task): Promise<T | undefined> {
    const signal = clientGone();
    if (this.closed) return Promise.reject(stopping());
    if (signal?.aborted) return Promise.reject(new ClientGoneError());
    const refusal = this.refusalOf(organizationId);
    if (refusal) return Promise.reject(refusal);
    return new Promise<T | undefined>((resolve, reject) => {
      const leave = (): void => {
        if (this.waiting.remove(organizationId, job)) reject(new ClientGoneError());
      };
      const begin = (): void => signal?.removeEventListener('abort', leave);
      const job = { organizationId, task, begin, resolve: resolve as Job['resolve'], reject };
      this.waiting.add(organizationId, job);
      signal?.addEventListener('abort', leave, { once: true });
      this.dispatch();
    });
  }

  /** No organization waits with more jobs than are left to the others, so that a further one always gets a share. */
  private refusalOf(organizationId: string): AppError | undefined {
    const left = MAX_WAITING - this.waiting.size;
    const own = this.waiting.sizeOf(organizationId);
    if (own >= Math.min(MAX_WAITING_PER_ORGANIZATION, left)) {
      return own > 0
        ? new TooManyAtATimeError('templates')
        : new UnavailableError('Too many templates are waiting to be rendered');
    }
    return undefined;
  }

  private dispatch(): void {
    for (const thread of this.threads) {
      const job = thread.busy || this.closed ? undefined : this.next(thread === this.threads[0]);
      if (job) void this.work(thread, job);
    }
  }

  private async work(thread: RenderThread, job: Job): Promise<void> {
    this.inWork.add(job.organizationId);
    job.begin();
    try {
      const result = await thread.run(job.task);
      // The service has stopped the thread; the template is not at fault.
      if (result === undefined && this.closed) throw stopping();
      if (result === undefined) this.noteStopped(job.organizationId);
      job.resolve(result);
    } catch (error) {
      job.reject(this.closed ? stopping() : error);
    }
    this.inWork.delete(job.organizationId);
    this.dispatch();
  }

  private next(forAll: boolean): Job | undefined {
    return this.waiting.take((holder) => !this.inWork.has(holder) && (forAll || !this.slow.has(holder)));
  }

  private noteStopped(organizationId: string): void {
    this.slow.set(organizationId, true);
    this.metrics
      .counter({ name: 'templates_stopped_total', help: 'Renderings that were ended because they took too long' })
      .inc();
  }
}

function stopping(): UnavailableError {
  return new UnavailableError('The service is stopping');
}
