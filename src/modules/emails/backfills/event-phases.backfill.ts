import { Injectable, type OnModuleInit } from '@nestjs/common';
import { NIL_ID } from '../../../common/ids';
import type { Backfill, BackfillBatch } from '../../../database/backfills/backfill';
import { BackfillsJob } from '../../../database/backfills/backfills.job';
import { Database } from '../../../database/database.service';
import type { Transaction } from '../../../database/transaction';
import { FORMER_PHASES } from '../../../delivery/ports/smtp-phase';
import { type EventPosition, countEvents, nextOrganization, renamePhases } from './sql/event-phases.sql';

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
    private readonly database: Database,
  ) {}

  onModuleInit(): void {
    this.backfills.register(this);
  }

  async estimate(): Promise<number> {
    const [row] = await this.database.run(countEvents());
    return Math.max(0, Math.round(row?.rows ?? 0));
  }

  async next(position: string, tx: Transaction): Promise<BackfillBatch> {
    const after = position === '' ? await this.organizationAfter(NIL_ID, tx) : (JSON.parse(position) as EventPosition);
    if (!after) return { position: undefined, examined: 0, changed: 0 };
    const [batch] = await tx.run(renamePhases(after, FORMER_PHASES, BATCH));
    const next = batch ? { ...after, ...batch.last } : await this.organizationAfter(after.organizationId, tx);
    const { examined = 0, changed = 0 } = batch ?? {};
    return { position: next && JSON.stringify(next), examined, changed };
  }

  private async organizationAfter(organizationId: string, tx: Transaction): Promise<EventPosition | undefined> {
    const [row] = await tx.run(nextOrganization(organizationId));
    return row && { organizationId: row.organizationId, ...FIRST };
  }
}
