import { Column, Entity, PrimaryColumn } from 'typeorm';
import { type Domain, type PauseReason, SendingState, type WarmingStatus } from './domain.entity';

/**
 * A removed domain that has sent live mail. Added again, it gets its id, its place in the warm-up and its sending status
 * back: otherwise removing and adding would be a way around every limit and pause.
 */
@Entity('removed_domains')
export class RemovedDomain {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') domain!: string;
  @Column('uuid') id!: string;
  @Column('text', { name: 'warming_status' }) warmingStatus!: WarmingStatus;
  @Column('timestamptz', { name: 'warming_started_at', nullable: true }) warmingStartedAt!: Date | null;
  @Column('timestamptz', { name: 'warming_paused_at', nullable: true }) warmingPausedAt!: Date | null;
  @Column('text', { name: 'warming_pause_reason', nullable: true }) warmingPauseReason!: PauseReason | null;
  @Column('timestamptz', { name: 'warming_judged_since', nullable: true }) warmingJudgedSince!: Date | null;
  @Column(() => SendingState, { prefix: false }) sending!: SendingState;
  @Column('timestamptz', { name: 'removed_at' }) removedAt!: Date;
}

/** What a domain leaves behind. */
export function removedDomain(domain: Domain, removedAt: Date): RemovedDomain {
  const { organizationId, id, domain: name } = domain;
  return { organizationId, domain: name, id, ...standingOf(domain), removedAt };
}

/** Where a domain is in its warm-up, and whether it is held back. */
export function standingOf(domain: Domain | RemovedDomain) {
  const { warmingStatus, warmingStartedAt, warmingPausedAt, warmingPauseReason, warmingJudgedSince, sending } = domain;
  return { warmingStatus, warmingStartedAt, warmingPausedAt, warmingPauseReason, warmingJudgedSince, sending };
}
