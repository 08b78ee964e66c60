import { Column, Entity, PrimaryColumn } from 'typeorm';

/** What the erased addresses of an organization are hashed with. */
@Entity('suppression_hash_keys')
export class SuppressionHashKey {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  /** Encrypted. */
  @Column('bytea') secret!: Buffer;
  @Column('timestamptz', { name: 'created_at' }) createdAt!: Date;
}
