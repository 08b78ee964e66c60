import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Recipients that a domain in its warm-up, or a slowed one, has used of a day, those being accepted now included. */
@Entity('warm_up_usage')
export class WarmUpUsage {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('uuid', { name: 'domain_id' }) domainId!: string;
  /** A UTC date, as `2026-01-05`. */
  @PrimaryColumn('date') day!: string;
  @Column('integer') recipients!: number;
  /** What the last reservation was limited to, and what it was granted. */
  @Column('integer', { name: 'daily_limit' }) dailyLimit!: number;
  @Column('integer', { name: 'last_grant' }) lastGrant!: number;
}
