import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { RecordPurpose } from './wanted-records';

/** The result of the last DNS check of one record. */
@Entity('domain_checks')
export class DomainCheck {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid', { name: 'domain_id' }) domainId!: string;
  @PrimaryColumn('text') purpose!: RecordPurpose;
  @PrimaryColumn('text') host!: string;
  /** `unreachable`: DNS did not reply; `verified` keeps its last value. */
  @Column('text') result!: 'verified' | 'missing' | 'wrong' | 'unreachable';
  @Column('boolean') verified!: boolean;
  /** Since when a record that had been found has been missing without interruption. */
  @Column('timestamptz', { name: 'failing_since', nullable: true }) failingSince!: Date | null;
  /** A sentence for the person who edits the zone. */
  @Column('text', { nullable: true }) problem!: string | null;
  @Column('timestamptz', { name: 'checked_at' }) checkedAt!: Date;
}
