import { Injectable } from '@nestjs/common';
import { HOUR } from '../../../common/clock';
import { firstIdAt } from '../../../common/ids';
import type { Mode } from '../../../common/tenant';
import type { Period } from '../../stats/stats.service';
import { type Counts, keyOf, type RecountedRow, type RecountPage } from './stats-counts';
import { StatsRecountRepository } from './stats-recount.repository';

const PAGE = 5_000;
/** Ids and times come from several clocks, and an email's id from before its commit. */
const SKEW_MS = HOUR;

/** Counts emails, recipients and events anew, page by page. */
@Injectable()
export class StatRecountService {
  constructor(private readonly recounts: StatsRecountRepository) {}

  /** Reads the events from then until now: what is recorded late happened in the period too. @param period whole hours */
  async recount(owner: { organizationId: string; mode: Mode }, period: Period): Promise<Counts> {
    const start: RecountPage = { ...owner, ...period, after: firstIdAt(new Date(period.from.getTime() - SKEW_MS)) };
    const endId = firstIdAt(period.to);
    const counts = new Map<string, number>();
    await addPages(counts, start, (page) => this.recounts.recountAccepted(page, endId, PAGE));
    await addPages(counts, start, (page) => this.recounts.recountEvents(page, PAGE));
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
    for (const row of rows) add(counts, row);
    const [first] = rows;
    if (!first?.lastId || first.read < PAGE) return;
    rows = await read({ ...start, after: first.lastId });
  }
}

function add(counts: Map<string, number>, { domainId, hour, counter, count }: RecountedRow): void {
  if (domainId === null || hour === null || counter === null || count === null) return;
  const key = keyOf(domainId, hour, counter);
  counts.set(key, (counts.get(key) ?? 0) + count);
}
