import { Injectable } from '@nestjs/common';
import { OrganizationsService } from '../../../auth/organizations.service';
import { type Mode, MODES } from '../../../common/tenant';
import { type Period, StatsService } from '../../stats/stats.service';
import { StatRecountService } from './stat-recount.service';
import { compareCounts, type Drift, storedCounts } from './stats-counts';

export interface FoundDrift extends Drift {
  readonly organizationId: string;
  readonly mode: Mode;
}

export interface StatsCheck {
  readonly compared: number;
  /** Counters that changed meanwhile, so that nothing can be said. */
  readonly unsettled: number;
  readonly drifts: readonly FoundDrift[];
}

/** Compares the counters with what happened. They are written together, so nothing may differ. */
@Injectable()
export class StatsCheckService {
  constructor(
    private readonly organizations: OrganizationsService,
    private readonly stats: StatsService,
    private readonly recounts: StatRecountService,
  ) {}

  /** @param period whole hours @param organizationId default: all of them @throws NotFoundError */
  async check(period: Period, organizationId?: string): Promise<StatsCheck> {
    const organizations =
      organizationId === undefined ? await this.organizations.list() : [await this.organizations.get(organizationId)];
    let total: StatsCheck = { compared: 0, unsettled: 0, drifts: [] };
    for (const { id } of organizations) {
      for (const mode of MODES) total = sum(total, await this.checkOne({ organizationId: id, mode }, period));
    }
    return total;
  }

  private async checkOne(owner: { organizationId: string; mode: Mode }, period: Period): Promise<StatsCheck> {
    const before = storedCounts(await this.stats.readHours(owner, period));
    const counted = await this.recounts.recount(owner, period);
    const after = storedCounts(await this.stats.readHours(owner, period));
    const { drifts, ...comparison } = compareCounts(before, counted, after);
    return { ...comparison, drifts: drifts.map((drift) => ({ ...owner, ...drift })) };
  }
}

function sum(one: StatsCheck, other: StatsCheck): StatsCheck {
  return {
    compared: one.compared + other.compared,
    unsettled: one.unsettled + other.unsettled,
    drifts: [...one.drifts, ...other.drifts],
  };
}
