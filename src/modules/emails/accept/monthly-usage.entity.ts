import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Recipients of the live mail of a limited organization in a month. Rows are read and written by statements (sql/). */
@Entity('monthly_usage')
export class MonthlyUsage {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  /** The month's first day, UTC. */
  @PrimaryColumn('date') month!: string;
  /** `bigint`, which the driver returns as text. */
  @Column('bigint') recipients!: string;
  @Column('timestamptz', { name: 'counted_at' }) countedAt!: Date;
}
