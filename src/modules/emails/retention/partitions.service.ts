import { Injectable, Logger } from '@nestjs/common';
import { OrganizationsService } from '../../../auth/organizations/organizations.service';
import { Clock } from '../../../common/clock';
import { deleteInBatches } from '../../../common/jobs/periodic-jobs';
import { AppConfig } from '../../../config/config';
import { Database } from '../../../database/pool/database.service';
import { StatsService } from '../../stats/stats.service';
import { distinctMonths, type Month, MONTHLY_TABLES, type MonthlyTable, monthOf, spanOf } from './months';
import { type DefaultRows, RetentionRepository, type TableMonth } from './retention.repository';

const MONTHS_AHEAD = 3;
/** Accepts wait while rows are moved; copying this much takes a second or two. */
const MAX_MOVED_BYTES = 128 * 2 ** 20;

export interface PartitionsReport {
  /** Number of future months for which every table has a partition. */
  readonly ahead: number;
  /** Rows in the default partitions. */
  readonly defaultRows: ReadonlyMap<MonthlyTable, number>;
}

/**
 * Creates partitions ahead of time, and missing ones: mail that was accepted meanwhile is in the default partitions and is
 * moved. When there is too much to move, it stays there until its retention ends; queries find it there too.
 */
@Injectable()
export class PartitionCreationService {
  private readonly logger = new Logger(PartitionCreationService.name);

  constructor(
    private readonly partitions: RetentionRepository,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /** @throws UnavailableError when a table stays locked; the next run tries again */
  async run(): Promise<PartitionsReport> {
    const now = this.clock.now();
    const existing = keysOf(await this.partitions.listPartitions());
    for (const month of this.wanted(now, await this.partitions.listDefaultRows())) {
      for (const table of MONTHLY_TABLES) {
        if (!existing.has(keyOf({ table, month }))) await this.add({ table, month });
      }
    }
    return this.report();
  }

  /** What there is now. */
  async report(): Promise<PartitionsReport> {
    const now = this.clock.now();
    const existing = keysOf(await this.partitions.listPartitions());
    const isComplete = (month: Month) => MONTHLY_TABLES.every((table) => existing.has(keyOf({ table, month })));
    let ahead = 0;
    while (isComplete(monthOf(now, ahead + 1))) ahead += 1;
    const defaultRows = new Map<MonthlyTable, number>(MONTHLY_TABLES.map((table) => [table, 0]));
    for (const { table, rows } of await this.partitions.listDefaultRows()) {
      defaultRows.set(table, (defaultRows.get(table) ?? 0) + rows);
    }
    return { ahead, defaultRows };
  }

  private wanted(now: Date, defaultRows: readonly DefaultRows[]): Month[] {
    const current = monthOf(now);
    const oldest = monthOf(now, -this.config.retention.emailMonths);
    const missed = defaultRows.map(({ month }) => month).filter((month) => month >= oldest && month < current);
    const ahead = Array.from({ length: MONTHS_AHEAD + 1 }, (_, later) => monthOf(now, later));
    return [...ahead, ...distinctMonths(missed)];
  }

  private async add(part: TableMonth): Promise<void> {
    const result = await this.partitions.addPartition(part, MAX_MOVED_BYTES);
    if (result !== 'too_large') return;
    this.logger.warn(`${part.table}: too much of ${part.month.toISOString().slice(0, 7)} is in the default partition`);
  }
}

function keysOf(parts: readonly TableMonth[]): Set<string> {
  return new Set(parts.map(keyOf));
}

function keyOf({ table, month }: TableMonth): string {
  return `${table} ${month.getTime()}`;
}

const BATCH = 5_000;
/** Organizations whose counters are changed by one statement. */
const PAGE = 100;
const CHILDREN = MONTHLY_TABLES.filter((table) => table !== 'emails');

export interface Removed {
  readonly partitions: number;
  /** Rows deleted one by one, from the default partitions. */
  readonly rows: number;
}

/**
 * Removes a month of all organizations' emails. The emails themselves are removed first, together with their counts: a reader
 * that finds an email finds all of its data, and what a failure leaves for the next run belongs to no email.
 */
@Injectable()
export class PartitionRemovalService {
  constructor(
    private readonly database: Database,
    private readonly partitions: RetentionRepository,
    private readonly organizations: OrganizationsService,
    private readonly stats: StatsService,
  ) {}

  /** Does nothing while another process changes partitions. @throws UnavailableError when a lock is not available soon */
  async remove(month: Month): Promise<Removed> {
    const emails = await this.dropEmails(month);
    if (emails === undefined) return { partitions: 0, rows: 0 };
    let [partitions, rows] = [emails, await this.deleteDefaultRows('emails', month)];
    for (const table of CHILDREN) {
      if ((await this.partitions.dropPartition({ table, month })) === 'dropped') partitions += 1;
      rows += await this.deleteDefaultRows(table, month);
    }
    return { partitions, rows };
  }

  /** Returns the number of dropped partitions; undefined while another process changes partitions. */
  private async dropEmails(month: Month): Promise<number | undefined> {
    const organizations = await this.organizations.list();
    return this.database.transaction(async (tx) => {
      if (!(await this.partitions.lockPartitions(tx))) return undefined;
      for (let start = 0; start < organizations.length; start += PAGE) {
        const ids = organizations.slice(start, start + PAGE).map(({ id }) => id);
        await this.stats.removeEmails(ids, spanOf(month), tx);
      }
      return (await this.partitions.dropPartition({ table: 'emails', month }, tx)) === 'dropped' ? 1 : 0;
    });
  }

  private deleteDefaultRows(table: MonthlyTable, month: Month): Promise<number> {
    return deleteInBatches(BATCH, (limit) => this.partitions.deleteDefaultRows({ table, month }, limit));
  }
}
