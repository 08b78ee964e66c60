import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { MicroBatcher } from '../../../common/async/micro-batcher';
import { DiskSpace } from '../../../common/disk-space';
import { AppError, TooManyAtATimeError, UnavailableError } from '../../../common/errors/app-error';
import { Metrics } from '../../../common/metrics/metrics';
import { WorkerWaker } from '../../../delivery/queue/worker-waker.service';
import { AcceptCommit } from './accept-commit.service';
import { keyName } from './idempotency';
import { takesTurns, weightOf } from './screen-submissions';
import type { Submission, SubmissionOutcome, SubmissionResult } from './send-request';

/** A key that another process works on is tried again this often, for two seconds in all. */
const KEY_RETRIES = 20;
const KEY_RETRY_MS = 100;
/** Seconds of work for a healthy database; beyond it waiting only fills memory. One organization alone has half of it. */
const MAX_WAITING = 4_000;
/** Fifty callers of single emails make two groups in turn, one being written while the other one gathers. */
const PATIENCE = { weight: 40, ms: 12 };
const BATCH_SIZES = [1, 2, 5, 10, 20, 50, 100, 200];

/** A submission, and whose. */
interface Held {
  readonly submission: Submission;
  readonly organizationId: string;
}

const holderOf = ({ organizationId }: Held): string => organizationId;

/**
 * Takes submissions and returns once they are committed. Concurrent callers share one transaction (17,000 emails/s
 * where one transaction each reached 7,000, and 1,700 on one hot counter row).
 */
@Injectable()
export class AcceptService {
  private readonly logger = new Logger(AcceptService.name);
  private readonly keys = new InFlightKeys();
  private readonly batchSizes;
  private readonly batcher = new MicroBatcher<Held, SubmissionOutcome | undefined>(
    (all) => this.commit(all.map(({ submission }) => submission)),
    {
      maxWeight: 200,
      weightOf: ({ submission }) => weightOf(submission),
      concurrency: 2,
      patience: PATIENCE,
      holderOf,
    },
  );
  /** Of large ones each has a transaction of its own, and callers of small ones wait for none of them. */
  private readonly large = new MicroBatcher<Held, SubmissionOutcome | undefined>(
    (all) => this.commit(all.map(({ submission }) => submission)),
    { maxWeight: 1, concurrency: 2, holderOf },
  );

  constructor(
    private readonly commits: AcceptCommit,
    private readonly waker: WorkerWaker,
    metrics: Metrics,
    private readonly disk: DiskSpace,
  ) {
    const help = 'Submissions that shared one commit';
    this.batchSizes = metrics.histogram({ name: 'accept_batch_size', help, buckets: BATCH_SIZES });
  }

  /**
   * Commits a submission, in the organization's turn.
   * @throws TooManyAtATimeError when too much of this organization waits; AppError idempotency_in_progress or idempotency_key_reused for the request as a whole, service_unavailable
   */
  async submit(submission: Submission, organizationId: string): Promise<SubmissionResult> {
    this.disk.assertRoom();
    const claims = [submission.idempotency, ...submission.items.map((item) => item.idempotency)];
    const names = claims.flatMap((claim) => (claim ? [keyName(claim)] : []));
    const held = { submission, organizationId };
    const outcome = names.length === 0 ? await this.attempt(held) : await this.withKeys(names, held);
    if (outcome instanceof AppError) throw outcome;
    return outcome;
  }

  private withKeys(names: readonly string[], held: Held): Promise<SubmissionOutcome> {
    return this.keys.run(names, async () => {
      for (let left = KEY_RETRIES; ; left -= 1) {
        const outcome = await this.attempt(held);
        const waits = outcome instanceof AppError && outcome.code === 'idempotency_in_progress';
        if (!waits || left === 0) return outcome;
        await delay(KEY_RETRY_MS);
      }
    });
  }

  private async attempt(held: Held): Promise<SubmissionOutcome> {
    this.assertRoom(held.organizationId);
    const outcome = await (takesTurns(held.submission) ? this.large : this.batcher).add(held);
    return outcome ?? this.commitAlone(held.submission);
  }

  /** No organization has more waiting than it leaves to the others, so that a further one finds room. */
  private assertRoom(organizationId: string): void {
    const own = this.batcher.depthOf(organizationId) + this.large.depthOf(organizationId);
    if (own < MAX_WAITING - this.batcher.depth - this.large.depth) return;
    if (own > 0) throw new TooManyAtATimeError();
    throw new UnavailableError('Too many emails are waiting to be accepted');
  }

  private async commit(submissions: Submission[]): Promise<(SubmissionOutcome | undefined)[]> {
    try {
      return await this.write(submissions);
    } catch (error) {
      if (error instanceof AppError || submissions.length === 1) throw error;
      // One item that fails must not fail the rest of its batch: each is committed by itself.
      this.logger.warn(
        `A batch of ${submissions.length} submissions is retried one by one: ${(error as Error).message}`,
      );
      return submissions.map(() => undefined);
    }
  }

  private async commitAlone(submission: Submission): Promise<SubmissionOutcome> {
    const [outcome] = await this.commit([submission]);
    return outcome ?? new AppError('internal_error', 'The email could not be accepted');
  }

  private async write(submissions: readonly Submission[]): Promise<SubmissionOutcome[]> {
    const outcomes = await this.commits.run(submissions);
    this.waker.wake(workOf(submissions));
    this.batchSizes.observe(submissions.length);
    return outcomes;
  }
}

/** What workers are notified of for a batch. */
function workOf(submissions: readonly Submission[]): { count: number; organizationIds: ReadonlySet<string> } {
  const candidates = submissions.flatMap(({ items }) => items.map(({ candidate }) => candidate));
  const commands = candidates.filter((candidate) => candidate.kind === 'command');
  const count = commands.reduce((sum, { request }) => sum + request.recipients.length, 0);
  return { count, organizationIds: new Set(commands.map(({ organizationId }) => organizationId)) };
}

/** Lets one caller at a time through for each key; the others wait for their turn. */
class InFlightKeys {
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
