import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { EventType } from '../../common/event-types';
import type { Mode } from '../../common/tenant';
import type { StoredTrace } from './outcomes/stored-trace';
import type { OutcomeSource } from '../../delivery/ports/outcome';

/** Something that happened to an email; append-only. */
@Entity('email_events')
export class EmailEvent {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'email_id' }) emailId!: string;
  @PrimaryColumn('integer') sequence!: number;
  @Column('uuid') id!: string;
  @Column('text', { name: 'event_type' }) eventType!: EventType;
  @Column('text') source!: OutcomeSource;
  @Column('timestamptz', { name: 'occurred_at' }) occurredAt!: Date;
  @Column('jsonb') data!: Record<string, unknown>;
  /** Of the attempt that led to it; null of other events, and of those before it was kept. */
  @Column('jsonb', { nullable: true }) trace!: StoredTrace | null;
}
