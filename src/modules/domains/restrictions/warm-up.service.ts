import { Injectable, Logger } from '@nestjs/common';
import { OPERATOR } from '../../../audit/audit.service';
import { Clock } from '../../../common/clock';
import { CommitUnknownError, reasonOf } from '../../../common/errors/app-error';
import { AppConfig } from '../../../config/config';
import type { Transaction } from '../../../database/statements/transaction';
import { DomainTransitionsService } from '../registry/domain-transitions.service';
import type { Domain, PauseReason } from '../registry/domain.entity';
import { RestrictionsRepository, type UnusedReservation } from './restrictions.repository';
import { WarmUpBudget } from './warm-up-budget';
import { DAILY_LIMITS, utcDay, warmUpLimit } from './warm-up-schedule';

/** The recipients of live mail of one domain in a batch. */
export interface WantedRecipients {
  readonly organizationId: string;
  readonly domainId: string;
  readonly recipients: number;
}

/**
 * Keeps a new domain within its warm-up, and a slowed or paused one within its allowance.
 *
 * A batch of accepts reserves recipients in a short statement of its own, before its transaction: no batch waits for another
 * one's commit, and the limit is never exceeded. Unused recipients are returned right afterwards; after a crash or a lost
 * connection in between, they stay reserved until the day ends. Batches without a limited domain cost nothing.
 */
@Injectable()
export class WarmUpService {
  private readonly logger = new Logger(WarmUpService.name);
  /** Unused reservations that could not be returned yet. */
  private unreturned: UnusedReservation[] = [];

  constructor(
    private readonly config: AppConfig,
    private readonly warmUps: RestrictionsRepository,
    private readonly clock: Clock,
  ) {}

  /** Whether warm-ups apply; false in local mode, where nothing leaves the machine. */
  get isEnabled(): boolean {
    return this.config.limits.warmupEnabled && this.config.delivery.mode !== 'local';
  }

  /** Whether the domain's live mail counts against a limit. */
  isLimited(domain: Pick<Domain, 'warmingStatus' | 'sending'>): boolean {
    return domain.sending.status !== 'active' || this.isUnderWay(domain);
  }

  /** Whether the domain is in its warm-up, or about to start it. */
  isUnderWay({ warmingStatus }: Pick<Domain, 'warmingStatus'>): boolean {
    return this.isEnabled && warmingStatus !== 'warmed';
  }

  /** Recipients that the domain's warm-up allows today; null: unlimited. */
  currentLimit(domain: Pick<Domain, 'warmingStatus' | 'warmingStartedAt'>): number | null {
    if (!this.isEnabled || domain.warmingStatus === 'warmed') return null;
    return domain.warmingStatus === 'paused' ? 0 : warmUpLimit(domain.warmingStartedAt, this.clock.now());
  }

  /** Reserves recipients for a batch. @param wanted of limited domains; a domain may appear several times */
  async reserve(wanted: readonly WantedRecipients[]): Promise<WarmUpBudget> {
    const now = this.clock.now();
    if (wanted.length === 0) return new WarmUpBudget([], now);
    const rows = await this.warmUps.reserve(sumByDomain(wanted), this.isEnabled ? DAILY_LIMITS : null, now);
    return new WarmUpBudget(
      rows.map(({ used, ...row }) => ({ ...row, usedByOthers: used - row.granted })),
      now,
    );
  }

  /** Records the domains whose first live send is in the transaction. */
  start(budget: WarmUpBudget, tx: Transaction): void {
    const starting = this.isEnabled ? budget.starting() : [];
    if (starting.length > 0) this.warmUps.startWarmUp(starting, budget.madeAt, tx);
  }

  /** Returns the whole budget after the transaction has been rolled back. */
  cancel(budget: WarmUpBudget): Promise<void> {
    budget.restart();
    return this.settle(budget);
  }

  /**
   * Returns the unused part of a budget; when that fails, together with the next one. When it may have happened, the limit comes first:
   * it stays reserved until the day ends. Never rejects.
   */
  async settle(budget: WarmUpBudget): Promise<void> {
    const day = utcDay(budget.madeAt);
    const due = [...this.unreturned, ...budget.unused().map((unused) => ({ ...unused, day }))];
    if (due.length === 0) return;
    this.unreturned = [];
    try {
      await this.warmUps.returnUnused(due);
    } catch (error) {
      const isUnknown = error instanceof CommitUnknownError;
      if (!isUnknown) this.unreturned.push(...due);
      const result = isUnknown ? 'may not have been given back' : 'could not be given back yet';
      this.logger.warn(`Unused reservations of a warm-up ${result}: ${reasonOf(error)}`);
    }
  }
}

function sumByDomain(wanted: readonly WantedRecipients[]): WantedRecipients[] {
  const sums = new Map<string, WantedRecipients>();
  for (const entry of wanted) {
    const recipients = entry.recipients + (sums.get(entry.domainId)?.recipients ?? 0);
    sums.set(entry.domainId, { ...entry, recipients });
  }
  return [...sums.values()];
}

export type { WarmUpBudget } from './warm-up-budget';

/**
 * Changes the state of warm-ups, with an entry in the audit log.
 *
 * not_started → warming with the first live send (the accept path does that), warming ⇄ paused, warming → warmed; an
 * operator can also set a domain in any state to warmed, and back to not_started.
 */
@Injectable()
export class WarmUpChangesService {
  constructor(
    private readonly transitions: DomainTransitionsService,
    private readonly clock: Clock,
  ) {}

  /** Returns false when another process was faster. */
  pause(domain: Domain, reason: PauseReason, actor: string, data: object): Promise<boolean> {
    const warmingPausedAt = this.clock.now();
    const fields = { warmingStatus: 'paused' as const, warmingPausedAt, warmingPauseReason: reason };
    return this.transitions.move(domain, { warmingStatus: ['warming'] }, fields, {
      actor,
      action: 'domain.warming_paused',
      data,
    });
  }

  /** Resumes a warm-up; earlier results no longer count. */
  resume(domain: Domain, actor: string): Promise<boolean> {
    const fields = { warmingStatus: 'warming' as const, ...NOT_PAUSED, warmingEvaluatedSince: this.clock.now() };
    const entry = { actor, action: 'domain.warming_resumed' };
    return this.transitions.move(domain, { warmingStatus: CHANGES.resume }, fields, entry);
  }

  /** Ends a warm-up; its results do not count for restrictions afterwards. */
  finish(domain: Domain, actor: string): Promise<boolean> {
    const fields = { warmingStatus: 'warmed' as const, ...NOT_PAUSED, warmingEvaluatedSince: this.clock.now() };
    return this.transitions.move(domain, { warmingStatus: CHANGES.finish }, fields, { actor, action: 'domain.warmed' });
  }

  restart(domain: Domain, actor: string): Promise<boolean> {
    const fields = {
      ...{ warmingStatus: 'not_started' as const, warmingStartedAt: null, ...NOT_PAUSED },
      warmingEvaluatedSince: this.clock.now(),
    };
    return this.transitions.move(domain, { warmingStatus: CHANGES.restart }, fields, {
      actor,
      action: 'domain.warming_restarted',
    });
  }

  /**
   * Applies a change by the operator; a domain that is in the wanted state already stays as it is.
   * @throws NotFoundError
   */
  byOperator(id: string, change: 'resume' | 'finish' | 'restart'): Promise<Domain> {
    const decide = async (domain: Domain) =>
      !CHANGES[change].includes(domain.warmingStatus) || this[change](domain, OPERATOR);
    return this.transitions.decide(id, decide);
  }
}

/** The states that an operator can change in this way. */
const CHANGES: Readonly<Record<'resume' | 'finish' | 'restart', readonly Domain['warmingStatus'][]>> = {
  resume: ['paused'],
  finish: ['not_started', 'warming', 'paused'],
  restart: ['warming', 'paused', 'warmed'],
};

const NOT_PAUSED = { warmingPausedAt: null, warmingPauseReason: null };
