import { Column, Entity, PrimaryColumn } from 'typeorm';

export type VerificationStatus = 'pending' | 'verified' | 'failed';
export type DkimStatus = 'pending' | 'verified' | 'failed';
export type WarmingStatus = 'not_started' | 'warming' | 'warmed' | 'paused';

/** A sender domain of an organization. */
@Entity('domains')
export class Domain {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid') id!: string;
  @Column('text') domain!: string;
  /** The labels before the registrable domain. */
  @Column('text', { nullable: true }) subdomain!: string | null;
  @Column('text', { name: 'verification_status', default: 'pending' }) verificationStatus!: VerificationStatus;
  @Column('text', { name: 'verification_token' }) verificationToken!: string;
  @Column('timestamptz', { name: 'verified_at', nullable: true }) verifiedAt!: Date | null;
  @Column('text', { name: 'dkim_selector', nullable: true }) dkimSelector!: string | null;
  @Column('text', { name: 'dkim_status', nullable: true }) dkimStatus!: DkimStatus | null;
  @Column('text', { name: 'warming_status', default: 'not_started' }) warmingStatus!: WarmingStatus;
  @Column('boolean', { name: 'is_default', default: false }) isDefault!: boolean;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
  @Column('timestamptz', { name: 'updated_at', default: () => 'now()' }) updatedAt!: Date;
}
