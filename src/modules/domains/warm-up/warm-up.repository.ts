import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, type Repository } from 'typeorm';
import { Database } from '../../../database/database.service';
import type { Transaction } from '../../../database/transaction';
import { Domain, type WarmingStatus } from '../domain.entity';
import { deleteOldUsage } from './sql/delete-old-usage.sql';
import { type ReservationRow, reserveRecipients } from './sql/reserve-recipients.sql';
import { returnRecipients, type UnusedReservation } from './sql/return-recipients.sql';
import { startWarmUp } from './sql/start-warm-up.sql';
import { DAILY_LIMITS, utcDay } from './warm-up-schedule';

interface Owner {
  readonly organizationId: string;
  readonly domainId: string;
}

type WarmUpFields =
  'warmingStatus' | 'warmingStartedAt' | 'warmingPausedAt' | 'warmingPauseReason' | 'warmingJudgedSince';

@Injectable()
export class WarmUpRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(Domain) private readonly domains: Repository<Domain>,
  ) {}

  reserve(wanted: readonly (Owner & { recipients: number })[], now: Date): Promise<ReservationRow[]> {
    return this.database.run(reserveRecipients(wanted, DAILY_LIMITS, utcDay(now), now));
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
    const query = this.domains
      .createQueryBuilder('d')
      .where("d.warming_status in ('warming', 'paused')")
      .orderBy('d.organizationId')
      .addOrderBy('d.id')
      .limit(limit);
    if (after) query.andWhere('(d.organization_id, d.id) > (:organizationId, :id)', after);
    return query.getMany();
  }

  /** For the operator, who names a domain by its id alone; reads the whole table. */
  findAnywhere(id: string): Promise<Domain | null> {
    return this.domains.findOneBy({ id });
  }

  /** Answers false when the domain is in none of the states any more. */
  async change(
    { organizationId, id }: Domain,
    from: readonly WarmingStatus[],
    fields: Partial<Pick<Domain, WarmUpFields>> & { updatedAt: Date },
    tx: Transaction,
  ): Promise<boolean> {
    const { affected } = await tx.manager.update(Domain, { organizationId, id, warmingStatus: In([...from]) }, fields);
    return affected === 1;
  }
}
