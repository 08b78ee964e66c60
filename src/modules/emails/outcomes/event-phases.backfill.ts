import { Injectable, type OnModuleInit } from '@nestjs/common';
import { OrganizationsService } from '../../../auth/organizations.service';
import { NIL_ID } from '../../../common/ids';
import type { Backfill, BackfillBatch } from '../../../database/backfill';
import { BackfillsJob } from '../../../database/backfills.job';
import type { Transaction } from '../../../database/transaction';
import { FORMER_PHASES } from '../../../delivery/ports/smtp-phase';
import { OutcomesRepository } from './outcomes.repository';
import type { EventPosition } from './sql/event-phases.sql';

const BATCH = 2_000;
const FIRST: Omit<EventPosition, 'organizationId'> = { mode: '', emailId: NIL_ID, sequence: 0 };

/**
 * Gives the phases in stored events their present names (delivery/ports/smtp-phase.ts), so that a later release can do
 * without the former ones. One organization after the other, in the order of the primary key.
 */
@Injectable()
export class EventPhasesBackfill implements Backfill, OnModuleInit {
  readonly name = 'event-phases';

  constructor(
    private readonly backfills: BackfillsJob,
    private readonly outcomes: OutcomesRepository,
    private readonly organizations: OrganizationsService,
  ) {}

  onModuleInit(): void {
    this.backfills.register(this);
  }

  estimate(): Promise<number> {
    return this.outcomes.estimateEvents();
  }

  async next(position: string, tx: Transaction): Promise<BackfillBatch> {
    const after = position === '' ? await this.organizationAfter(NIL_ID) : (JSON.parse(position) as EventPosition);
    if (!after) return { position: undefined, examined: 0, changed: 0 };
    const batch = await this.outcomes.renamePhases(after, FORMER_PHASES, BATCH, tx);
    const next = batch ? { ...after, ...batch.last } : await this.organizationAfter(after.organizationId);
    const { examined = 0, changed = 0 } = batch ?? {};
    return { position: next && JSON.stringify(next), examined, changed };
  }

  private async organizationAfter(organizationId: string): Promise<EventPosition | undefined> {
    const next = await this.organizations.idAfter(organizationId);
    return next === undefined ? undefined : { organizationId: next, ...FIRST };
  }
}
