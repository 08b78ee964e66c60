import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../common/tenant';

const QUEUE_ACTIONS = ['retry_now', 'hold', 'release', 'fail'] as const;

export type QueueActionKind = (typeof QUEUE_ACTIONS)[number];

/** Something that an operator does with open deliveries; worked off in batches by `sql/queue-actions.sql.ts`. */
@Entity('queue_actions')
export class QueueAction {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') action!: QueueActionKind;
  @Column('uuid', { name: 'filter_organization_id', nullable: true }) organizationId!: string | null;
  @Column('text', { name: 'filter_destination', nullable: true }) destination!: string | null;
  @Column('uuid', { name: 'filter_email_id', nullable: true }) emailId!: string | null;
  /** Removed once it is completed. */
  @Column('text', { name: 'filter_recipient', nullable: true }) recipient!: string | null;
  /** The operator's own words. */
  @Column('text') reason!: string;
  @Column('text') actor!: string;
  @Column('text') status!: 'running' | 'completed';
  @Column('uuid', { name: 'at_organization_id' }) atOrganizationId!: string;
  @Column('text', { name: 'at_mode' }) atMode!: Mode | '';
  @Column('uuid', { name: 'at_email_id' }) atEmailId!: string;
  @Column('smallint', { name: 'at_position' }) atPosition!: number;
  /** Deliveries that it is for, as far as it has come. */
  @Column('integer', { default: 0 }) matched!: number;
  @Column('integer', { default: 0 }) changed!: number;
  /** Left alone because a worker had them. */
  @Column('integer', { default: 0 }) claimed!: number;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
  @Column('timestamptz', { name: 'completed_at', nullable: true }) completedAt!: Date | null;
}
