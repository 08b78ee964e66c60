import { Injectable } from '@nestjs/common';
import { Clock, DAY, MINUTE, SECOND } from '../../../common/clock';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import { SuppressionErasure, type SuppressionReason } from '../../suppressions/address-hashing.service';
import { WebhookDeliveriesService } from '../../webhooks/deliveries/webhook-deliveries.service';
import type { ShownRequest } from '../requests/privacy-requests.service';
import { type LeasedRequest, type PrivacyRequestHandler, PrivacyWork } from '../requests/privacy-work.service';
import { advance, ERASURE_STEPS, type ErasureProgress, progressOf } from './erasure-progress';
import { ErasureSteps, type ErasureTarget } from './erasure-steps.service';

/** Data that has to be kept after an erasure, and the legal basis. */
export interface RetentionException {
  readonly category: 'suppression';
  readonly reason: SuppressionReason;
  readonly basis: string;
}

/** Determines what an erasure has to keep. */
@Injectable()
export class RetentionExceptionsService {
  constructor(private readonly suppressions: SuppressionErasure) {}

  /** The exceptions of a completed erasure are final; those of an open one reflect the present state. */
  async of({ organizationId, mode, receipt, subject, email }: ShownRequest): Promise<readonly RetentionException[]> {
    if (receipt) return receipt.retentionExceptions as RetentionException[];
    if (!subject) return [];
    return toRetentionExceptions(await this.suppressions.keptReasons({ organizationId, mode }, email));
  }
}

const BASIS: Partial<Record<SuppressionReason, string>> = {
  spam_complaint:
    'The person asked not to be written to (GDPR article 21); kept as a keyed hash so that this is heeded',
  hard_bounce:
    'The mailbox does not exist; kept as a keyed hash so that its server is not bothered again (article 6(1)(f))',
};
const OTHERWISE = 'Blocked by the operator; kept as a keyed hash so that the block holds (article 6(1)(f))';

function toRetentionExceptions(reasons: readonly SuppressionReason[]): RetentionException[] {
  return reasons.map((reason) => ({ category: 'suppression', reason, basis: BASIS[reason] ?? OTHERWISE }));
}

/** Pages until other organizations have their turn. Each step has at least one page: most erasures end in one turn. */
const PAGES_PER_TURN = 3 * ERASURE_STEPS.length;
/** How long an erasure waits for deliveries: claimed ones end within minutes, or with their workers' leases. */
const MAX_WAIT_MS = DAY;
const MAX_PAUSE_MS = MINUTE;
/** A third of the lease. */
const RENEW_MS = 10 * SECOND;

/**
 * Erases a subject page by page. Each page is one transaction with the progress, so that it counts once, whichever worker runs it.
 * Emails that a worker is delivering to the subject are left for a later round, which any worker may run.
 */
@Injectable()
export class ErasureHandler implements PrivacyRequestHandler {
  readonly type = 'article_17_erasure';

  constructor(
    private readonly steps: ErasureSteps,
    private readonly webhooks: WebhookDeliveriesService,
    private readonly work: PrivacyWork,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  async run(leased: LeasedRequest, signal: AbortSignal): Promise<void> {
    const target = this.steps.targetOf(leased, this.work.subjectOf(leased).email);
    let progress = progressOf(leased);
    for (let pages = 0; pages < PAGES_PER_TURN; pages += 1) {
      if (signal.aborted) return this.work.putBack(leased);
      const { rounds } = progress;
      progress = await this.runPage(leased, target, progress);
      if (progress.step === 'done') return;
      if (progress.rounds > rounds) return this.waitForDeliveries(leased, progress);
    }
    await this.work.yieldTurn(leased);
  }

  private runPage(leased: LeasedRequest, target: ErasureTarget, before: ErasureProgress): Promise<ErasureProgress> {
    return this.withLease(leased, async () => {
      const erasePage = await this.steps.prepare(target, before);
      return this.database.transaction(async (tx) => {
        const page = await erasePage(tx);
        await this.webhooks.eraseResponses(target.request, page.eventIds ?? [], tx);
        const progress = this.noteWait(before, advance(before, page));
        if (progress.step === 'done') await this.complete(leased, progress, tx);
        else await this.work.saveProgress(leased, { ...progress }, tx);
        return progress;
      });
    });
  }

  /** Renews the lease while a large file, or many replies, are searched. */
  private async withLease<T>(leased: LeasedRequest, work: () => Promise<T>): Promise<T> {
    // If the lease is lost, the page's own transaction fails.
    const renew = () => void this.work.renew(leased).catch(() => undefined);
    const timer = setInterval(renew, RENEW_MS);
    return work().finally(() => clearInterval(timer));
  }

  /** Stores the receipt and deletes the progress and the subject. */
  private async complete(leased: LeasedRequest, { counts, kept }: ErasureProgress, tx: Transaction): Promise<void> {
    const receipt = { ...counts, retentionExceptions: toRetentionExceptions(kept) };
    await this.work.saveProgress(leased, {}, tx);
    await this.work.complete(leased, { receipt, subject: null }, tx);
  }

  private noteWait(before: ErasureProgress, progress: ErasureProgress): ErasureProgress {
    if (progress.rounds <= before.rounds) return progress;
    return { ...progress, waitsSinceMs: before.waitsSinceMs ?? this.clock.now().getTime() };
  }

  /** The time before the first round does not count: no worker may have run. */
  private async waitForDeliveries(leased: LeasedRequest, { rounds, waitsSinceMs }: ErasureProgress): Promise<void> {
    const now = this.clock.now().getTime();
    if (now - (waitsSinceMs ?? now) > MAX_WAIT_MS) return this.work.fail(leased, 'deliveries_under_way');
    await this.work.putBack(leased, new Date(now + Math.min(MAX_PAUSE_MS, SECOND * 2 ** rounds)));
  }
}
