import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A worker's findings about a group of destinations. Written in bulk: see `sql/`. */
@Entity('destination_reports')
export class DestinationReport {
  /** The first mail exchanger by preference and name. */
  @PrimaryColumn('text') key!: string;
  @PrimaryColumn('uuid', { name: 'session_id' }) sessionId!: string;
  @Column('integer') active!: number;
  @Column('integer') concurrency!: number;
  @Column('integer') pauses!: number;
  @Column('timestamptz', { name: 'paused_until', nullable: true }) pausedUntil!: Date | null;
  @Column('text', { nullable: true }) cause!: string | null;
  @Column('timestamptz', { name: 'changed_at', nullable: true }) changedAt!: Date | null;
  @Column('text', { name: 'last_response', nullable: true }) lastResponse!: string | null;
  @Column('text', { name: 'mx_hosts', array: true }) mxHosts!: string[];
  @Column('text', { array: true }) domains!: string[];
  @Column('integer') delivered!: number;
  @Column('integer') deferred!: number;
  @Column('integer') bounced!: number;
  /** Null: of a worker of an earlier release. */
  @Column('integer', { name: 'per_minute', nullable: true }) perMinute!: number | null;
  @Column('timestamptz', { name: 'reported_at', default: () => 'now()' }) reportedAt!: Date;
}

export type RuleSource = 'reply' | 'operator';

/** `resumed`: not a limit, but a signal to workers to drop a pause of their own. */
export type RuleEffect = 'paused' | 'resumed' | 'max_connections' | 'rate_per_minute';

/** What holds for a group until it ends or is removed; one for each source and effect. */
@Entity('destination_rules')
export class DestinationRule {
  @PrimaryColumn('uuid') id!: string;
  @Column('text') key!: string;
  @Column('text') source!: RuleSource;
  @Column('text') effect!: RuleEffect;
  @Column('integer', { nullable: true }) value!: number | null;
  @Column('text') cause!: string;
  @Column('timestamptz', { nullable: true }) until!: Date | null;
  @Column('timestamptz', { name: 'created_at', default: () => 'now()' }) createdAt!: Date;
}
