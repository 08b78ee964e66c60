import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { RecordPurpose } from './wanted-records';

/** What the last DNS check of one record found. */
@Entity('domain_checks')
export class DomainCheck {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid', { name: 'domain_id' }) domainId!: string;
  @PrimaryColumn('text') purpose!: RecordPurpose;
  @PrimaryColumn('text') host!: string;
  /** `unreachable`: the DNS did not answer, so nothing is known; `verified` says what was known before. */
  @Column('text') result!: 'verified' | 'missing' | 'wrong' | 'unreachable';
  @Column('boolean') verified!: boolean;
  /** Since when a record that had been seen has been gone, without a break. */
  @Column('timestamptz', { name: 'failing_since', nullable: true }) failingSince!: Date | null;
  /** A sentence for the person who edits the zone. */
  @Column('text', { nullable: true }) problem!: string | null;
  @Column('timestamptz', { name: 'checked_at' }) checkedAt!: Date;
}
