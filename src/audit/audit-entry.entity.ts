import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Something that was done to an organization's settings, and by whom. Never changed once it is written. */
@Entity('audit_log')
export class AuditEntry {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('timestamptz', { name: 'occurred_at' }) occurredAt!: Date;
  /** A key's id, `operator` (the command line), `operator:` and an operator key's id, or `system` (a background job). */
  @Column('text') actor!: string;
  /** Like `domain.verified`. */
  @Column('text') action!: string;
  @Column('text', { name: 'target_type' }) targetType!: string;
  @Column('text', { name: 'target_id' }) targetId!: string;
  @Column('jsonb', { default: {} }) data!: object;
}
