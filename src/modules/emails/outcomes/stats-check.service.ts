import { Injectable } from '@nestjs/common';
import { OrganizationsService } from '../../../auth/organizations/organizations.service';
import { HOUR } from '../../../common/clock';
import { firstIdAt } from '../../../common/ids';
import { type Mode, MODES, type Tenant } from '../../../common/tenant';
import { type Period, StatsService } from '../../stats/stats.service';
import { OutcomesRepository } from './outcomes.repository';
import {
  addRecounted,
  compareCounts,
  type Counts,
  type Drift,
  type RecountedRow,
  type RecountPage,
  storedCounts,
} from './stats-counts';

export interface FoundDrift extends Drift {
  readonly organizationId: string;
  readonly mode: Mode;
}

export interface StatsCheck {
  readonly compared: number;
  /** Counters that changed during the check, which have no result. */
  readonly unsettled: number;
  readonly drifts: readonly FoundDrift[];
}

/** Rows that one statement recounts. */
const PAGE = 5_000;
/** Ids and times come from several clocks, and an email's id is generated before its commit. */
const SKEW_MS = HOUR;

/** Compares the counters with the events. Both are written in one transaction, so they must agree. */
@Injectable()
export class StatsCheckService {
  constructor(
    private readonly organizations: OrganizationsService,
    private readonly stats: StatsService,
    private readonly outcomes: OutcomesRepository,
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

  private async checkOne(tenant: Tenant, period: Period): Promise<StatsCheck> {
    const before = storedCounts(await this.stats.readHours(tenant, period));
    const counted = await this.recount(tenant, period);
    const after = storedCounts(await this.stats.readHours(tenant, period));
    const { drifts, ...comparison } = compareCounts(before, counted, after);
    const { organizationId, mode } = tenant;
    return { ...comparison, drifts: drifts.map((drift) => ({ organizationId, mode, ...drift })) };
  }

  /** Recounts the events of the period, including those that were recorded later. */
  private async recount({ organizationId, mode }: Tenant, period: Period): Promise<Counts> {
    const after = firstIdAt(new Date(period.from.getTime() - SKEW_MS));
    const start: RecountPage = { organizationId, mode, ...period, after };
    const endId = firstIdAt(period.to);
    const counts = new Map<string, number>();
    await addPages(counts, start, (page) => this.outcomes.recountAccepted(page, endId, PAGE));
    await addPages(counts, start, (page) => this.outcomes.recountEvents(page, PAGE));
    return counts;
  }
}

async function addPages(
  counts: Map<string, number>,
  start: RecountPage,
  read: (page: RecountPage) => Promise<RecountedRow[]>,
): Promise<void> {
  let rows = await read(start);
  for (;;) {
    for (const row of rows) addRecounted(counts, row);
    const [first] = rows;
    if (!first?.lastId || first.read < PAGE) return;
    rows = await read({ ...start, after: first.lastId });
  }
}

function sum(one: StatsCheck, other: StatsCheck): StatsCheck {
  return {
    compared: one.compared + other.compared,
    unsettled: one.unsettled + other.unsettled,
    drifts: [...one.drifts, ...other.drifts],
  };
}
