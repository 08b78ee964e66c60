import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { In, LessThan, type Repository } from 'typeorm';
import { acrossTenants } from '../../../common/tenant';
import { Database } from '../../../database/pool/database.service';
import type { Transaction } from '../../../database/statements/transaction';
import { Domain, WarmUpUsage } from '../registry/domain.entity';
import {
  countRestricted,
  type DomainScore,
  type RestrictedCounts,
  returnRecipients,
  startWarmUp,
  type UnusedReservation,
  writeScores,
} from './sql/restrictions.sql';
import { type ReservationRow, reserveRecipients } from './sql/reserve-recipients.sql';
import { utcDay } from './warm-up-schedule';

export type { UnusedReservation };

interface Owner {
  readonly organizationId: string;
  readonly domainId: string;
}

type DomainKey = Pick<Domain, 'organizationId' | 'id'>;

/** Owner of `warm_up_usage`; also pages through domains to evaluate their sending. */
@Injectable()
export class RestrictionsRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(Domain) private readonly domains: Repository<Domain>,
    @InjectRepository(WarmUpUsage) private readonly usage: Repository<WarmUpUsage>,
  ) {}

  /** @param limits of day 1, day 2 and so on of a warm-up; null: no warm-up is applied */
  reserve(
    wanted: readonly (Owner & { recipients: number })[],
    limits: readonly number[] | null,
    now: Date,
  ): Promise<ReservationRow[]> {
    const tenants = wanted.map(({ organizationId }) => organizationId);
    return this.database.run(reserveRecipients(wanted, limits, utcDay(now), now), tenants);
  }

  async returnUnused(unused: readonly UnusedReservation[]): Promise<void> {
    // `unused` may include reservations of earlier requests.
    await acrossTenants(() => this.database.run(returnRecipients(unused)));
  }

  /** @param before a UTC date */
  async deleteUsage(before: string): Promise<void> {
    await this.usage.delete({ day: LessThan(before) });
  }

  startWarmUp(domains: readonly Owner[], now: Date, tx: Transaction): void {
    tx.write(startWarmUp(domains, now));
  }

  /** Domains of all organizations with a warm-up that runs or is paused, in key order, after the given one. */
  findWarming(after: Domain | undefined, limit: number): Promise<Domain[]> {
    return this.findAfter(after, limit, "d.warming_status in ('warming', 'paused')");
  }

  /** Slowed and paused domains of all organizations, in key order, after the given one. */
  findRestricted(after: DomainKey | undefined, limit: number): Promise<Domain[]> {
    return this.findAfter(after, limit, "d.sending_status <> 'active'");
  }

  /** The given domains without the restricted ones. */
  findActive(owners: readonly Owner[]): Promise<Domain[]> {
    return this.domains.findBy({
      organizationId: In([...new Set(owners.map((owner) => owner.organizationId))]),
      id: In(owners.map((owner) => owner.domainId)),
      sending: { status: 'active' },
    });
  }

  async countRestricted(): Promise<RestrictedCounts> {
    const [counts] = await this.database.run(countRestricted());
    return counts ?? { slowed: 0, paused: 0 };
  }

  /** The keys of all domains after the given one, in key order. */
  async findKeys(after: Owner | undefined, limit: number): Promise<Owner[]> {
    const query = this.domains
      .createQueryBuilder('d')
      .select(['d.organizationId', 'd.id'])
      .orderBy('d.organizationId')
      .addOrderBy('d.id')
      .limit(limit);
    if (after) query.where('(d.organization_id, d.id) > (:organizationId, :domainId)', after);
    return (await query.getMany()).map(({ organizationId, id }) => ({ organizationId, domainId: id }));
  }

  /** Returns the number of changed scores. */
  async writeScores(scores: readonly DomainScore[]): Promise<number> {
    return (await this.database.run(writeScores(scores))).length;
  }

  private findAfter(after: DomainKey | undefined, limit: number, condition: string): Promise<Domain[]> {
    const query = this.domains
      .createQueryBuilder('d')
      .where(condition)
      .orderBy('d.organizationId')
      .addOrderBy('d.id')
      .limit(limit);
    if (after) query.andWhere('(d.organization_id, d.id) > (:organizationId, :id)', after);
    return query.getMany();
  }
}
