import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A change of an organization's settings and who made it. Entries never change; triggers of the table refuse updates. */
@Entity('audit_log')
export class AuditEntry {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('timestamptz', { name: 'occurred_at' }) occurredAt!: Date;
  /** A key's id, `operator` (the command line), `operator:` and an operator key's id, or `system` (a background job). */
  @Column('text') actor!: string;
  /** For example `domain.verified`. */
  @Column('text') action!: string;
  @Column('text', { name: 'target_type' }) targetType!: string;
  @Column('text', { name: 'target_id' }) targetId!: string;
  @Column('jsonb', { default: {} }) data!: object;
}
