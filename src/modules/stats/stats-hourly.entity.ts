import { Column, Entity, PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import type { Mode } from '../../common/tenant';

/** The counters of a domain's mail in a UTC hour. They are `bigint`, which the driver returns as text. */
@Entity('stats_hourly')
export class StatsHourly {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'domain_id' }) domainId!: string;
  /** Start of the hour, UTC. */
  @PrimaryColumn('timestamptz') hour!: Date;
  @Column('bigint', { default: 0 }) emails!: string;
  @Column('bigint', { default: 0 }) accepted!: string;
  @Column('bigint', { default: 0 }) sent!: string;
  @Column('bigint', { default: 0 }) delivered!: string;
  @Column('bigint', { default: 0 }) bounced!: string;
  @Column('bigint', { default: 0 }) failed!: string;
  @Column('bigint', { default: 0 }) deferred!: string;
  @Column('bigint', { default: 0 }) complaints!: string;
  @Column('bigint', { default: 0 }) unsubscribes!: string;
  @Column('bigint', { default: 0 }) opens!: string;
  @Column('bigint', { default: 0 }) clicks!: string;
  @Column('bigint', { default: 0 }) excused!: string;
}

/** The sums of one run of the fold, over all live mail. */
@Entity('sending_rates')
export class SendingRate {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' }) id!: string;
  @Column('timestamptz', { default: () => 'now()' }) at!: Date;
  @Column('integer') accepted!: number;
  @Column('integer') delivered!: number;
  @Column('integer') deferred!: number;
  @Column('integer') bounced!: number;
}

/** Counters as commits append them; a job folds them into the hours. */
@Entity('stats_deltas')
export class StatsDelta {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' }) id!: string;
  @Column('uuid', { name: 'organization_id' }) organizationId!: string;
  @Column('text') mode!: Mode;
  @Column('uuid', { name: 'domain_id' }) domainId!: string;
  /** Start of the hour, UTC. */
  @Column('timestamptz') hour!: Date;
  @Column('integer', { default: 0 }) emails!: number;
  @Column('integer', { default: 0 }) accepted!: number;
  @Column('integer', { default: 0 }) sent!: number;
  @Column('integer', { default: 0 }) delivered!: number;
  @Column('integer', { default: 0 }) bounced!: number;
  @Column('integer', { default: 0 }) failed!: number;
  @Column('integer', { default: 0 }) deferred!: number;
  @Column('integer', { default: 0 }) complaints!: number;
  @Column('integer', { default: 0 }) unsubscribes!: number;
  @Column('integer', { default: 0 }) opens!: number;
  @Column('integer', { default: 0 }) clicks!: number;
  @Column('integer', { default: 0 }) excused!: number;
  /** Sums by group of receivers, in the order of `PROVIDER_COUNTERS`. */
  @Column('jsonb', { name: 'by_provider', nullable: true }) byProvider!: Record<string, number[]> | null;
}

/** The results of a domain's mail to a group of receivers in a UTC hour. Rows are written by the fold. */
@Entity('stats_providers')
export class StatsProviders {
  @PrimaryColumn('uuid', { name: 'organization_id' }) organizationId!: string;
  @PrimaryColumn('text') mode!: Mode;
  @PrimaryColumn('uuid', { name: 'domain_id' }) domainId!: string;
  /** Start of the hour, UTC. */
  @PrimaryColumn('timestamptz') hour!: Date;
  @PrimaryColumn('text') provider!: string;
  @Column('bigint') accepted!: string;
  @Column('bigint') delivered!: string;
  @Column('bigint') deferred!: string;
  @Column('bigint') bounced!: string;
  @Column('bigint') excused!: string;
  @Column('bigint') complaints!: string;
}
