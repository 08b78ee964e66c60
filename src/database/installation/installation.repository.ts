import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { masterKeyId } from '../../common/encryption/encryption';
import { UnavailableError } from '../../common/errors/app-error';
import { newId } from '../../common/ids';
import { JobStore, type WorkCondition } from '../../common/jobs/periodic-jobs';
import { AppConfig } from '../../config/config';
import type { BackfillBatch } from './backfill';
import { BackfillRun, MasterKeyInUse } from './installation.entity';
import { databaseErrorCode } from '../statements/database-errors';
import { Database } from '../pool/database.service';
import { findWork, releaseJobLease, takeJobLease } from './sql/jobs.sql';
import { recordMasterKeyId } from './sql/master-key.sql';
import type { Transaction } from '../statements/transaction';

/** Leases in the table `job_leases`, of which each process is one holder; the conditions are the jobs' own. */
@Injectable()
export class JobStoreRepository extends JobStore {
  private readonly holder = newId();

  constructor(private readonly database: Database) {
    super();
  }

  async take(job: string, leaseSeconds: number): Promise<boolean> {
    const [lease] = await this.database.run(takeJobLease(job, this.holder, leaseSeconds));
    return lease?.taken ?? false;
  }

  async release(job: string): Promise<void> {
    await this.database.run(releaseJobLease(job, this.holder));
  }

  async findWork(
    conditions: readonly WorkCondition[],
    due: readonly string[],
    now: Date,
  ): Promise<ReadonlySet<string>> {
    try {
      const found = await this.database.run(findWork(conditions, due, now));
      return new Set(found.map(({ name }) => name));
    } catch (error) {
      throw causeOfTimeout(error) ?? error;
    }
  }
}

/** lock_not_available, query_canceled (by `lock_timeout` and `statement_timeout`) */
const TIMEOUTS = ['55P03', '57014'];

/** The server responds, only what one of the conditions reads does not: that says nothing about the other jobs. */
function causeOfTimeout(error: unknown): Error | undefined {
  const cause = error instanceof UnavailableError ? error.cause : undefined;
  return cause instanceof Error && TIMEOUTS.includes(databaseErrorCode(cause) ?? '') ? cause : undefined;
}

/** How far backfills have come. */
@Injectable()
export class BackfillRunsRepository {
  constructor(@InjectRepository(BackfillRun) private readonly runs: Repository<BackfillRun>) {}

  find(name: string): Promise<BackfillRun | null> {
    return this.runs.findOneBy({ name });
  }

  /** In order of their begin. */
  list(): Promise<BackfillRun[]> {
    return this.runs.find({ order: { startedAt: 'ASC', name: 'ASC' } });
  }

  /** Does nothing when it has begun already. */
  async begin(name: string, total: number, now: Date): Promise<void> {
    const none = { position: '', examined: '0', changed: '0', finishedAt: null };
    const run = { name, total: String(total), startedAt: now, updatedAt: now, ...none };
    await this.runs.createQueryBuilder().insert().values(run).orIgnore().execute();
  }

  /** Locks it: two processes do not take the same batch. */
  lock(name: string, tx: Transaction): Promise<BackfillRun> {
    return tx.manager.findOneOrFail(BackfillRun, { where: { name }, lock: { mode: 'pessimistic_write' } });
  }

  async advance(run: BackfillRun, batch: BackfillBatch, now: Date, tx: Transaction): Promise<BackfillRun> {
    const changes = {
      position: batch.position ?? run.position,
      examined: String(Number(run.examined) + batch.examined),
      changed: String(Number(run.changed) + batch.changed),
      updatedAt: now,
      finishedAt: batch.position === undefined ? now : null,
    };
    await tx.manager.update(BackfillRun, { name: run.name }, changes);
    return { ...run, ...changes };
  }
}

/**
 * Which master key the processes of this database use, by its id. Without it a wrong key shows only by what it cannot decrypt: not
 * at all before the first domain, and not where it only signs.
 */
@Injectable()
export class MasterKeyRecord {
  constructor(
    private readonly database: Database,
    private readonly config: AppConfig,
    @InjectRepository(MasterKeyInUse) private readonly rows: Repository<MasterKeyInUse>,
  ) {}

  /** Whether this process has the recorded key, as its own or as the previous one; true while none is recorded. */
  async isKnown(): Promise<boolean> {
    const recorded = await this.read();
    return recorded === undefined || this.ids.includes(recorded) || !this.isNeeded;
  }

  /** Whether the recorded key is the process's own, and not only its previous one; true while none is recorded. */
  async isCurrent(): Promise<boolean> {
    const recorded = await this.read();
    return recorded === undefined || this.ids[0] === recorded;
  }

  /** At the start of a process: its own key is in use from now on, if it has the one that was until now. @returns whether it has */
  async adopt(): Promise<boolean> {
    const [own = 0] = this.ids;
    // A start on a database that is read-only for now writes nothing.
    if ((await this.read()) === own) return true;
    return (await this.database.run(recordMasterKeyId(own, this.ids))).length === 1;
  }

  /** Everything is encrypted under this key, whichever was in use. */
  async replace(masterKey: Buffer): Promise<void> {
    await this.database.run(recordMasterKeyId(masterKeyId(masterKey)));
  }

  private async read(): Promise<number | undefined> {
    const [row] = await this.rows.find();
    return row && Number(row.keyId);
  }

  /** The responder of DKIM keys decrypts nothing. */
  private get isNeeded(): boolean {
    return [...this.config.roles].some((role) => role !== 'dns');
  }

  /** The one that encrypts first. */
  private get ids(): number[] {
    const { masterKey, previousMasterKey } = this.config;
    return [masterKey, ...(previousMasterKey ? [previousMasterKey] : [])].map(masterKeyId);
  }
}
