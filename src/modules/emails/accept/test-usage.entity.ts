import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Recipients of test mail from a domain on a day, or in all. Rows are read and written by statements (sql/). */
@Entity('test_usage')
export class TestUsage {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid', { name: 'domain_id' }) domainId!: string;
  /** A UTC date; the epoch stands for all days together. */
  @PrimaryColumn('date') day!: string;
  @Column('integer') recipients!: number;
}
