import { Injectable, type OnModuleInit } from '@nestjs/common';
import { OrganizationsService } from '../../../auth/organizations/organizations.service';
import { Clock } from '../../../common/clock';
import { firstIdAt, NIL_ID } from '../../../common/ids';
import { MODES } from '../../../common/tenant';
import type { Backfill, BackfillBatch } from '../../../database/installation/backfill';
import { BackfillsJob } from '../../../database/installation/backfills.job';
import type { Transaction } from '../../../database/statements/transaction';
import { FORMER_PHASES } from '../../events/event-rows';
import { OutcomesRepository } from './outcomes.repository';
import type { EventPosition } from './sql/stored-events.sql';

const BATCH = 2_000;
const FIRST = { mode: MODES[0] ?? '', emailId: NIL_ID, sequence: -1 };

/**
 * Renames the phases in stored events to their current names (modules/events/event-rows.ts), so that a later release need not
 * know the former ones. One organization and mode after the other, in the order of the primary key, without mail that is
 * accepted meanwhile.
 */
@Injectable()
export class EventPhasesBackfill implements Backfill, OnModuleInit {
  readonly name = 'event-phases';

  constructor(
    private readonly backfills: BackfillsJob,
    private readonly outcomes: OutcomesRepository,
    private readonly organizations: OrganizationsService,
    private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    this.backfills.register(this);
  }

  estimate(): Promise<number> {
    return this.outcomes.estimateEvents();
  }

  async next(position: string, tx: Transaction): Promise<BackfillBatch> {
    const after = position === '' ? await this.organizationAfter(NIL_ID, this.now(), tx) : this.parse(position);
    if (!after) return { position: undefined, examined: 0, changed: 0 };
    const batch = await this.outcomes.renamePhases(after, FORMER_PHASES, BATCH, tx);
    const next = batch ? { ...after, ...batch.last } : await this.placeAfter(after, tx);
    const { examined = 0, changed = 0 } = batch ?? {};
    return { position: next && JSON.stringify(next), examined, changed };
  }

  /** Reads a stored position; one without a bound was stored by an earlier release. */
  private parse(position: string): EventPosition {
    const stored = JSON.parse(position) as EventPosition & { before?: string };
    return { ...stored, before: stored.before ?? this.now() };
  }

  private now(): string {
    return firstIdAt(this.clock.now());
  }

  private async placeAfter(done: EventPosition, tx: Transaction): Promise<EventPosition | undefined> {
    const mode = MODES[MODES.findIndex((one) => one === done.mode) + 1];
    return mode === undefined
      ? this.organizationAfter(done.organizationId, done.before, tx)
      : { ...done, ...FIRST, mode };
  }

  private async organizationAfter(
    organizationId: string,
    before: string,
    tx: Transaction,
  ): Promise<EventPosition | undefined> {
    const next = await this.organizations.idAfter(organizationId, tx);
    return next === undefined ? undefined : { organizationId: next, before, ...FIRST };
  }
}
