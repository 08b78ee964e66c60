import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../common/tenant';
import type { SuppressionReason } from './suppression';

/** An address that is not sent to, and one reason why. */
@Entity('suppressions')
export class Suppression {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  /** The normal form: what is matched. */
  @PrimaryColumn('text', { name: 'address_key' }) addressKey!: string;
  @PrimaryColumn('text') reason!: SuppressionReason;
  @Column('uuid') id!: string;
  @Column('text') email!: string;
  /** `api`: added over the API or by an operator. */
  @Column('text') source!: 'automatic' | 'api';
  @Column('text', { nullable: true }) notes!: string | null;
  @Column('timestamptz', { name: 'suppressed_at' }) suppressedAt!: Date;
  /** From then on it is no longer in force. */
  @Column('timestamptz', { name: 'expires_at', nullable: true }) expiresAt!: Date | null;
}
