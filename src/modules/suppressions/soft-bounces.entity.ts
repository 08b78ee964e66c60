import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../common/tenant';

/** The soft bounces of an address within the window of the rule. Rows are written by a statement (sql/). */
@Entity('soft_bounces')
export class SoftBounces {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  /** The normal form of the address. */
  @PrimaryColumn('text', { name: 'address_key' }) addressKey!: string;
  /** Oldest first; at most as many as suppress an address. */
  @Column('timestamptz', { name: 'bounced_at', array: true }) bouncedAt!: Date[];
  @Column('timestamptz', { name: 'last_bounced_at' }) lastBouncedAt!: Date;
}
