import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { AppError, UnavailableError } from '../../../common/errors/app-error';
import { Metrics } from '../../../common/metrics/metrics';
import { MicroBatcher } from '../../../common/async/micro-batcher';
import { WorkerWaker } from '../../../delivery/queue/worker-waker.service';
import { AcceptCommit } from './accept-commit';
import { keyName, type SubmissionAnswer } from './accept-plan';
import { InFlightKeys } from './in-flight-keys';
import { weightOf } from './screen-submissions';
import type { Submission, SubmissionResult } from './submission';

/** A key that another process works on is asked for again this often, for two seconds in all. */
const KEY_RETRIES = 20;
const KEY_RETRY_MS = 100;
/** Seconds of work for a healthy database; beyond it waiting only fills memory. */
const MAX_WAITING = 2_000;
/** Fifty callers of single emails make two groups in turn, one being written while the other one gathers. */
const PATIENCE = { weight: 40, ms: 12 };
const BATCH_SIZES = [1, 2, 5, 10, 20, 50, 100, 200];

/**
 * Takes submissions and answers once they are committed. Concurrent callers share one transaction (17,000 emails/s
 * where one transaction each reached 7,000, and 1,700 on one hot counter row).
 */
@Injectable()
export class AcceptService {
  private readonly logger = new Logger(AcceptService.name);
  private readonly keys = new InFlightKeys();
  private readonly batcher = new MicroBatcher<Submission, SubmissionAnswer | undefined>(
    (submissions) => this.commit(submissions),
    { maxWeight: 200, weightOf, concurrency: 2, patience: PATIENCE },
  );

  constructor(
    private readonly commits: AcceptCommit,
    private readonly waker: WorkerWaker,
    private readonly metrics: Metrics,
  ) {}

  /**
   * Commits a submission.
   * @throws AppError idempotency_in_progress or idempotency_key_reused for the request as a whole, service_unavailable
   */
  async submit(submission: Submission): Promise<SubmissionResult> {
    const claims = [submission.idempotency, ...submission.items.map((item) => item.idempotency)];
    const names = claims.flatMap((claim) => (claim ? [keyName(claim)] : []));
    const answer = names.length === 0 ? await this.attempt(submission) : await this.withKeys(names, submission);
    if (answer instanceof AppError) throw answer;
    return answer;
  }

  private withKeys(names: readonly string[], submission: Submission): Promise<SubmissionAnswer> {
    return this.keys.run(names, async () => {
      for (let left = KEY_RETRIES; ; left -= 1) {
        const answer = await this.attempt(submission);
        const waits = answer instanceof AppError && answer.code === 'idempotency_in_progress';
        if (!waits || left === 0) return answer;
        await delay(KEY_RETRY_MS);
      }
    });
  }

  private async attempt(submission: Submission): Promise<SubmissionAnswer> {
    if (this.batcher.depth >= MAX_WAITING) throw new UnavailableError('Too many emails are waiting to be accepted');
    const answer = await this.batcher.add(submission);
    return answer ?? this.commitAlone(submission);
  }

  private async commit(submissions: Submission[]): Promise<(SubmissionAnswer | undefined)[]> {
    try {
      return await this.write(submissions);
    } catch (error) {
      if (error instanceof AppError || submissions.length === 1) throw error;
      // One poisoned item must not sink its neighbours: each goes by itself.
      this.logger.warn(
        `A batch of ${submissions.length} submissions is retried one by one: ${(error as Error).message}`,
      );
      return submissions.map(() => undefined);
    }
  }

  private async commitAlone(submission: Submission): Promise<SubmissionAnswer> {
    const [answer] = await this.commit([submission]);
    return answer ?? new AppError('internal_error', 'The email could not be accepted');
  }

  private async write(submissions: readonly Submission[]): Promise<SubmissionAnswer[]> {
    const answers = await this.commits.run(submissions);
    this.waker.wake();
    this.metrics
      .histogram({ name: 'accept_batch_size', help: 'Submissions that shared one commit', buckets: BATCH_SIZES })
      .observe(submissions.length);
    return answers;
  }
}
