import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { Mode } from '../../common/tenant';

/** A recipient whose domain the DNS did not know. Rows are written by a statement (sql/). */
@Entity('missing_domains')
export class MissingDomain {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  /** The normal form of the address. */
  @PrimaryColumn('text', { name: 'address_key' }) addressKey!: string;
  /** Days in UTC. */
  @Column('date', { name: 'first_seen_on' }) firstSeenOn!: string;
  @Column('date', { name: 'last_seen_on' }) lastSeenOn!: string;
}
