import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Database } from '../../../../database/database.service';
import type { Transaction } from '../../../../database/transaction';
import { Domain } from '../../domain.entity';
import { domainsAfter } from '../../domain-pages.repository';
import { deleteOldUsage } from './sql/delete-old-usage.sql';
import { type ReservationRow, reserveRecipients } from './sql/reserve-recipients.sql';
import { returnRecipients, type UnusedReservation } from './sql/return-recipients.sql';
import { startWarmUp } from './sql/start-warm-up.sql';
import { utcDay } from './warm-up-schedule';

interface Owner {
  readonly organizationId: string;
  readonly domainId: string;
}

@Injectable()
export class WarmUpRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(Domain) private readonly domains: Repository<Domain>,
  ) {}

  /** @param limits of day 1, day 2 and so on of a warm-up; null: none is applied */
  reserve(
    wanted: readonly (Owner & { recipients: number })[],
    limits: readonly number[] | null,
    now: Date,
  ): Promise<ReservationRow[]> {
    return this.database.run(reserveRecipients(wanted, limits, utcDay(now), now));
  }

  async giveBack(unused: readonly UnusedReservation[]): Promise<void> {
    await this.database.run(returnRecipients(unused));
  }

  start(domains: readonly Owner[], now: Date, tx: Transaction): void {
    tx.write(startWarmUp(domains, now));
  }

  /** @param before a UTC date */
  async forgetUsage(before: string): Promise<void> {
    await this.database.run(deleteOldUsage(before));
  }

  /** Warming and paused domains of every organization after the given one, in key order. */
  findUnderWay(after: Domain | undefined, limit: number): Promise<Domain[]> {
    return domainsAfter(this.domains, "d.warming_status in ('warming', 'paused')", after, limit);
  }
}
