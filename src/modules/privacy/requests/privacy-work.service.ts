import { Injectable } from '@nestjs/common';
import { AuditService, SYSTEM } from '../../../audit/audit.service';
import { Clock, SECOND } from '../../../common/clock';
import { newId } from '../../../common/ids';
import { OrganizationRing } from '../../../common/jobs/organization-ring';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import { PrivacyKeyring, type PrivacySubject } from './privacy-keyring.service';
import type { PrivacyRequest, PrivacyRequestType } from './privacy-request.entity';
import { PrivacyRequestsRepository, type RequestChanges } from './privacy-requests.repository';
import { auditRecordOf } from './privacy-requests.service';

/** A request that this worker holds until its lease ends. */
export interface LeasedRequest extends PrivacyRequest {
  readonly leaseToken: string;
}

/** Processes requests of one type. */
export interface PrivacyRequestHandler {
  readonly type: PrivacyRequestType;

  /**
   * Processes a request from its progress to its end, which is `complete`. It may return earlier: with `yieldTurn` after some
   * pages, with `putBack` to continue later, or when `signal` reports that the process stops. An exception counts as a failed
   * attempt, a lost lease does not.
   *
   * It may run again, in another process, from the progress that was last saved.
   */
  run(leased: LeasedRequest, signal: AbortSignal): Promise<void>;
}

/** Another worker holds the request now, or it has ended: the transaction must be rolled back. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
}

/** The final columns of a failed request. The progress is deleted, since its position may contain an address. */
function failedFor(failure: string) {
  return { status: 'failed', failure, progress: {} } as const;
}

/** Longer than any step between two saves; every save renews it. */
const LEASE_MS = 30 * SECOND;
/** Consecutive attempts without progress. */
const MAX_ATTEMPTS = 8;
/** Delay after the first failed attempt; doubled with each further one. */
const FIRST_DELAY_MS = 5 * SECOND;
const NO_LEASE = { leaseUntil: null, leaseToken: null };

/**
 * Leases requests to workers. A worker holds a request by the newest lease token. It writes results in one transaction with
 * `saveProgress` or `complete`, which throw when the lease has been lost, so that each step counts once even if workers crash.
 */
@Injectable()
export class PrivacyWork {
  private readonly turns = { article_15_access: new OrganizationRing(), article_17_erasure: new OrganizationRing() };

  constructor(
    private readonly requests: PrivacyRequestsRepository,
    private readonly keyring: PrivacyKeyring,
    private readonly audit: AuditService,
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** An SQL condition: whether any of a type is open. */
  hasOpen(type: PrivacyRequestType): string {
    return this.requests.hasOpen(type);
  }

  /**
   * Leases the next request, round robin over the organizations; undefined when none is free.
   * @throws UnavailableError
   */
  async claimNext(type: PrivacyRequestType): Promise<LeasedRequest | undefined> {
    const [leased] = await this.turns[type].next(async (after) => (await this.claimAfter(type, after)) ?? []);
    return leased;
  }

  private claimAfter(type: PrivacyRequestType, after: string): Promise<[LeasedRequest] | undefined> {
    return this.database.transaction(async (tx) => {
      for (;;) {
        const due = await this.requests.lockTurn(type, this.clock.now(), after, tx);
        if (!due) return undefined;
        const lease = { leaseToken: newId(), leaseUntil: this.leaseEnd(), attempts: due.attempts + 1 };
        const leased: LeasedRequest = { ...due, ...lease, status: 'processing' };
        await this.requests.lease(due, { ...lease, status: 'processing' }, tx);
        if (due.attempts < MAX_ATTEMPTS) return [leased];
        await this.end(leased, failedFor('attempts'), tx);
      }
    });
  }

  /** @throws DecryptionError; Error when the subject has been erased */
  subjectOf(request: PrivacyRequest): PrivacySubject {
    if (!request.subject) throw new Error('The subject of this request has been erased');
    return this.keyring.decryptSubject(request.subject, request);
  }

  /** Stores the progress, and renews the lease. @throws LeaseLostError */
  saveProgress(leased: LeasedRequest, progress: Record<string, unknown>, tx: Transaction): Promise<void> {
    return this.change(leased, { progress, attempts: 0, leaseUntil: this.leaseEnd() }, tx);
  }

  /**
   * Renews the lease. It does not count as progress: otherwise a page that crashes every worker would never fail the request.
   * @throws LeaseLostError
   */
  renew(leased: LeasedRequest): Promise<void> {
    return this.database.transaction((tx) => this.change(leased, { leaseUntil: this.leaseEnd() }, tx));
  }

  /** @param result an erasure's receipt, with the subject removed, or the expiry of an export's result. @throws LeaseLostError */
  complete(
    leased: LeasedRequest,
    result: { receipt?: Record<string, unknown>; subject?: null; expiresAt?: Date },
    tx: Transaction,
  ): Promise<void> {
    return this.end(leased, { status: 'completed', ...result }, tx);
  }

  /** Ends a turn: the request continues, in any process, after the others that wait. @throws LeaseLostError */
  yieldTurn(leased: LeasedRequest): Promise<void> {
    const changes = { leaseToken: null, leaseUntil: this.clock.now(), attempts: 0 };
    return this.database.transaction((tx) => this.change(leased, changes, tx));
  }

  /** Releases the request to any worker, from `dueAt` on. @throws LeaseLostError */
  putBack(leased: LeasedRequest, dueAt: Date = this.clock.now()): Promise<void> {
    const changes = { status: 'pending', leaseToken: null, leaseUntil: dueAt, attempts: 0 } as const;
    return this.database.transaction((tx) => this.change(leased, changes, tx));
  }

  /** Ends a failed attempt; the request is retried with exponential backoff, or fails after MAX_ATTEMPTS. @throws LeaseLostError */
  retryLater(leased: LeasedRequest): Promise<void> {
    return this.database.transaction(async (tx) => {
      const attempts = await this.requests.attemptsOf(leased, tx);
      if (attempts >= MAX_ATTEMPTS) return this.end(leased, failedFor('attempts'), tx);
      const leaseUntil = new Date(this.clock.now().getTime() + FIRST_DELAY_MS * 2 ** attempts);
      return this.change(leased, { status: 'pending', leaseToken: null, leaseUntil }, tx);
    });
  }

  /** Ends a request that can never be completed. @param failure a code in snake_case. @throws LeaseLostError */
  fail(leased: LeasedRequest, failure: string): Promise<void> {
    return this.database.transaction((tx) => this.end(leased, failedFor(failure), tx));
  }

  private async end(
    leased: LeasedRequest,
    changes: RequestChanges & { status: 'completed' | 'failed' },
    tx: Transaction,
  ): Promise<void> {
    await this.change(leased, { ...changes, ...NO_LEASE, completedAt: this.clock.now() }, tx);
    await this.audit.record([auditRecordOf(changes.status, leased, SYSTEM)], tx);
  }

  private async change(leased: LeasedRequest, changes: RequestChanges, tx: Transaction): Promise<void> {
    if (!(await this.requests.change(leased, changes, tx))) throw new LeaseLostError();
  }

  private leaseEnd(): Date {
    return new Date(this.clock.now().getTime() + LEASE_MS);
  }
}
