import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { MicroBatcher } from '../../../../common/async/micro-batcher';
import { DiskSpace } from '../../../../common/disk-space';
import {
  AppError,
  ClientGoneError,
  CommitUnknownError,
  TooManyAtATimeError,
  UnavailableError,
  reasonOf,
} from '../../../../common/errors/app-error';
import { Metrics } from '../../../../common/metrics/metrics';
import { ranOutOfTime } from '../../../../database/statements/database-errors';
import { OpenDeliveryLimit } from '../../../../delivery/queue/open-delivery-limit.service';
import { WorkerWaker } from '../../../../delivery/queue/worker-waker.service';
import { AcceptCommit } from './accept-commit.service';
import { keyName } from '../request/idempotency';
import { bytesIn, takesTurns, weightOf } from './screen-submissions';
import type { Submission, SubmissionOutcome, SubmissionResult } from '../request/send-request';

/** Retries for a key that another process holds, two seconds in total. */
const [KEY_RETRIES, KEY_RETRY_MS] = [20, 100];
/** Waiting submissions: seconds of work for a healthy database. One organization alone may have half of them. */
const MAX_WAITING = 4_000;
/** How long a batch gathers submissions: fifty concurrent callers form two alternating groups, one of which is being written. */
const PATIENCE = { weight: 40, ms: 12 };
const BATCH_SIZES = [1, 2, 5, 10, 20, 50, 100, 200];

/** A waiting submission, its organization, and whether nobody waits for its result any more. */
type Held = {
  readonly submission: Submission;
  readonly organizationId: string;
  readonly hasGone?: HasGone | undefined;
};
type HasGone = () => boolean;

const holderOf = ({ organizationId }: Held): string => organizationId;

/**
 * Commits submissions. Concurrent callers share one transaction (17,000 emails/s, where one transaction each reached 7,000,
 * and 1,700 on one hot counter row).
 */
@Injectable()
export class AcceptService {
  private readonly logger = new Logger(AcceptService.name);
  private readonly keys = new InFlightKeys();
  private readonly batchSizes;
  private readonly batcher = new MicroBatcher<Held, SubmissionOutcome | undefined>((all) => this.commitWanted(all), {
    maxWeight: 200,
    weightOf: ({ submission }) => weightOf(submission),
    concurrency: 2,
    patience: PATIENCE,
    tookTooLong: ranOutOfTime,
    holderOf,
  });
  /** Large submissions have transactions of their own, so that callers of small ones do not wait for them. */
  private readonly large = new MicroBatcher<Held, SubmissionOutcome | undefined>((all) => this.commitWanted(all), {
    maxWeight: 1,
    concurrency: 2,
    holderOf,
  });

  constructor(
    private readonly commits: AcceptCommit,
    private readonly waker: WorkerWaker,
    metrics: Metrics,
    private readonly disk: DiskSpace,
    private readonly openLimit: OpenDeliveryLimit,
  ) {
    const help = 'Submissions that shared one commit';
    this.batchSizes = metrics.histogram({ name: 'accept_batch_size', help, buckets: BATCH_SIZES });
  }

  /**
   * Commits a submission; organizations take turns. What waits for a client that has gone is not begun: under overload nobody would get
   * a result in time, as all work would be for those who had given up, and for their repetitions.
   * @throws TooManyAtATimeError when too many submissions of the organization wait; DiskShareError; UnavailableError; AppError
   * sending_limit_exceeded when too many of its deliveries are open; idempotency_in_progress or idempotency_key_reused for the request
   * as a whole; ClientGoneError
   */
  async submit(submission: Submission, organizationId: string, hasGone?: HasGone): Promise<SubmissionResult> {
    await this.openLimit.assertRoom(organizationId);
    const intake = { bytes: bytesIn(submission), holder: organizationId };
    const outcome = await this.disk.take(intake, () => this.accept({ submission, organizationId, hasGone }));
    if (outcome instanceof AppError) throw outcome;
    return outcome;
  }

  private accept(held: Held): Promise<SubmissionOutcome> {
    const { submission } = held;
    const claims = [submission.idempotency, ...submission.items.map((item) => item.idempotency)];
    const names = claims.flatMap((claim) => (claim ? [keyName(claim)] : []));
    return names.length === 0 ? this.attempt(held) : this.withKeys(names, held);
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
    if (held.hasGone?.()) throw new ClientGoneError();
    this.assertRoom(held.organizationId);
    const outcome = await (takesTurns(held.submission) ? this.large : this.batcher).add(held);
    const [alone] = outcome ? [] : await this.commit([held]);
    return outcome ?? alone ?? new AppError('internal_error', 'The email could not be accepted');
  }

  /** An organization may use at most as many waiting places as it leaves to the others. @throws TooManyAtATimeError, UnavailableError */
  private assertRoom(organizationId: string): void {
    const own = this.batcher.depthOf(organizationId) + this.large.depthOf(organizationId);
    if (own < MAX_WAITING - this.batcher.depth - this.large.depth) return;
    if (own > 0) throw new TooManyAtATimeError();
    throw new UnavailableError('Too many emails are waiting to be accepted');
  }

  private async commitWanted(batch: readonly Held[]): Promise<(SubmissionOutcome | undefined)[]> {
    const wanted = batch.filter(({ hasGone }) => !hasGone?.());
    if (wanted.length === batch.length) return this.commit(batch);
    const committed = wanted.length > 0 ? await this.commit(wanted) : [];
    const outcomes = new Map(wanted.map((held, index) => [held, committed[index]]));
    return batch.map((held) => (outcomes.has(held) ? outcomes.get(held) : new ClientGoneError()));
  }

  private async commit(batch: readonly Held[]): Promise<(SubmissionOutcome | undefined)[]> {
    try {
      return await this.write(batch.map(({ submission }) => submission));
    } catch (error) {
      if (error instanceof AppError || batch.length === 1) throw error;
      this.logger.warn(`Submissions are committed by organization, or one by one: ${reasonOf(error)}`);
      return this.commitApart(batch);
    }
  }

  /**
   * What fails must not fail the others: each organization's part is committed by itself. Undefined in a part that fails; the error in
   * one that may have been committed, whose emails would otherwise be accepted twice.
   */
  private async commitApart(batch: readonly Held[]): Promise<(SubmissionOutcome | undefined)[]> {
    const parts = new Map<string, Held[]>();
    for (const held of batch) parts.set(holderOf(held), [...(parts.get(holderOf(held)) ?? []), held]);
    const outcomes = new Map<Held, SubmissionOutcome | undefined>();
    for (const part of parts.size > 1 ? parts.values() : []) {
      const written = await this.write(part.map(({ submission }) => submission)).catch((error: unknown) =>
        error instanceof CommitUnknownError ? part.map(() => error) : [],
      );
      part.forEach((held, index) => outcomes.set(held, written[index]));
    }
    return batch.map((held) => outcomes.get(held));
  }

  private async write(submissions: readonly Submission[]): Promise<SubmissionOutcome[]> {
    const outcomes = await this.commits.run(submissions);
    this.waker.wake(workOf(submissions));
    this.batchSizes.observe(submissions.length);
    return outcomes;
  }
}

/** The notification of workers for a batch: the number of recipients, and their organizations. */
function workOf(submissions: readonly Submission[]): { count: number; organizationIds: ReadonlySet<string> } {
  const candidates = submissions.flatMap(({ items }) => items.map(({ candidate }) => candidate));
  const commands = candidates.filter((candidate) => candidate.kind === 'command');
  const count = commands.reduce((sum, { request }) => sum + request.recipients.length, 0);
  return { count, organizationIds: new Set(commands.map(({ organizationId }) => organizationId)) };
}

/** A lock per idempotency key within this process; further callers wait. */
class InFlightKeys {
  private readonly running = new Map<string, Promise<void>>();

  /** Waits for the keys, in a fixed order to avoid deadlocks, then runs `work`. */
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
